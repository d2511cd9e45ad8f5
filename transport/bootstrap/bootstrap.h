// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Bootstrap: how the ranks of a communicator find each other and exchange addresses; everything later goes over the
// control plane (control.h, control_bootstrap.h). The socket implementation is a star: the process that made the unique
// id serves as root (root.h) on the service thread; it sees to it that every connected rank hears of an error. The
// other one calls functions of the program, such as MPI's. A Bootstrap belongs to the thread that runs the init of its
// rank.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "rondo/rondo.h"

namespace rondo {

class Bootstrap {
 public:
  // Says goodbye. While other ranks still exchange something they get an error.
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Every rank calls it with the same bytesPerRank; all has size() entries, of which the caller has filled entry
  // rank(). On return every entry is filled. Throws ncclRemoteError when another rank is gone or failed,
  // ncclInvalidUsage when the ranks do not agree on the size.
  virtual void allGather(void* all, size_t bytesPerRank) = 0;
};

// Asked every 50 ms by each wait; true ends it with Error(ncclInvalidUsage). Empty: never.
using AbortPredicate = std::function<bool()>;

// Opens the meeting point in this process; with NCCL_COMM_ID set only encodes that address, and rank 0 opens it. Until
// its ranks come, or the process ends, an id holds a port and the service thread.
ncclUniqueId createUniqueId();

// Waits until all ranks have come, for RONDO_INIT_TIMEOUT seconds. Errors, all told to every rank that has connected:
// ncclInvalidArgument (rank or ranks out of range, bytes that are no id), ncclInvalidUsage (ranks that do not agree, a
// rank given twice, an id used before), ncclSystemError (network), ncclRemoteError (a rank died or never came).
std::unique_ptr<Bootstrap> connectSocketBootstrap(const ncclUniqueId& id, int rank, int ranks,
                                                  const AbortPredicate& aborted);

// A failing function is ncclRemoteError. functions.context must outlive the result.
std::unique_ptr<Bootstrap> makeCallbackBootstrap(const rondoBootstrap_t& functions, int rank, int ranks);

}  // namespace rondo
