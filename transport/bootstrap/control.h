// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The control plane of one rank of a communicator: TCP connections in a binary tree (parent (rank-1)/2) that carry the
// first error, exchanges and goodbyes, and whose end says that a process is dead. There is no heartbeat: a paused rank
// is alive.
// It belongs to the communicator; its connections are served by the service thread (event_loop.h), where callbacks run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "src/base/error.h"
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
  // What another rank has told by note().
  std::function<void(int rank, const std::vector<char>& content)> onNote;
};

class ControlPlane {
 public:
  // Collective. The bootstrap is used for one exchange, of addresses; from there on a rank that fails or dies is named
  // on all others. When it returns, all ranks are connected.
  ControlPlane(Bootstrap& bootstrap, ControlCallbacks callbacks, const AbortPredicate& aborted);

  // Without leave() before it, the other ranks get the error "rank N (host:pid) aborted the communicator", unless there
  // has been an error already. In a forked child it only closes the child's descriptors.
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // The rest is for any thread, and does nothing in a forked child, where allGather throws.

  int rank() const { return rank_; }
  int size() const { return ranks_; }

  // As Bootstrap::allGather, at any time, by one thread at a time (another one waits). A rank may be late for as long
  // as it likes. Throws the communicator's first error: a rank that has died, that has raised an error, or whose
  // bytesPerRank differs (ncclInvalidUsage, on all ranks). ncclRemoteError when a rank has left instead of taking part,
  // ncclInvalidUsage when aborted says true: no exchange is possible on this rank after that. With a timeout other than
  // 0 a rank that does not come within about that time is named as everybody's error, ncclRemoteError.
  void allGather(void* all, size_t bytesPerRank, const AbortPredicate& aborted = {},
                 std::chrono::seconds timeout = std::chrono::seconds(0));

  // Makes this the communicator's error on every rank, unless there is one.
  void raise(ncclResult_t code, int originRank, const std::string& text);

  // Tells all other ranks something short, by their onNote. Nobody waits for it: where a rank on the way is stopped, those
  // behind it get it when it goes on.
  void note(std::vector<char> content);

  // This rank neither sends nor needs anything any more. Its process must still keep the ControlPlane until all have
  // left: the connections of others may go through it.
  void leave();

  // True when every rank has left or is out of reach; false at the timeout or when aborted says true.
  bool waitAllLeft(const AbortPredicate& aborted, std::chrono::milliseconds timeout);

  // "rank 3 (host:pid)".
  std::string describe(int rank) const;

 private:
  void abandon(const Error& error);

  const pid_t pid_;
  const int rank_;
  const int ranks_;
  std::shared_ptr<ControlTree> tree_;

  std::mutex turn_;  // held during an exchange; protects the rest
  uint64_t nextRound_ = 0;
  bool gaveUp_ = false;  // an exchange was aborted here: the next ones would be out of step
};

}  // namespace rondo
