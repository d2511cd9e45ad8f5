// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The control plane of one rank of a communicator: TCP connections in a binary tree (parent (rank-1)/2) that carry the
// first error and goodbyes, and whose end says that a process is dead. There is no heartbeat: a paused rank is alive.
// It belongs to the communicator; its connections are served by the service thread (event_loop.h), where callbacks run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rondo/rondo.h"
#include "transport/bootstrap/bootstrap.h"

namespace rondo {

class ControlTree;

// Called on the service thread, possibly before the ControlPlane's constructor has returned, never after its destructor
// has. They must neither block nor destroy a ControlPlane.
struct ControlCallbacks {
  // The communicator's first error, at most once: another rank's, a dead rank's, or what this rank has raised.
  std::function<void(ncclResult_t code, int originRank, const std::string& text)> onError;
  // About every 20 ms.
  std::function<void()> onTick;
};

class ControlPlane {
 public:
  // Collective over the bootstrap, which is not needed afterwards.
  ControlPlane(Bootstrap& bootstrap, ControlCallbacks callbacks, const AbortPredicate& aborted);

  // Without leave() before it, the other ranks get the error "rank N (host:pid) aborted the communicator", unless there
  // has been an error already. In a forked child it only closes the child's descriptors.
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // The rest is for any thread, and does nothing in a forked child.

  // Makes this the communicator's error on every rank, unless there is one.
  void raise(ncclResult_t code, int originRank, const std::string& text);

  // This rank neither sends nor needs anything any more. Its process must still keep the ControlPlane until all have
  // left: the connections of others may go through it.
  void leave();

  // True when every rank has left or is out of reach; false at the timeout or when aborted says true.
  bool waitAllLeft(const AbortPredicate& aborted, std::chrono::milliseconds timeout);

  // "rank 3 (host:pid)".
  std::string describe(int rank) const;

 private:
  const pid_t pid_;
  std::shared_ptr<ControlTree> tree_;
};

}  // namespace rondo
