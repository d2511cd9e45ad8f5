// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What the service thread does for one rank's control plane (control.h): its place in the tree, its connections, who
// has left, the first error. Shared between the ControlPlane and the event loop; everything but the waits and describe
// is for the service thread.
//
// Why an orderly end is never taken for a death: a rank passes each goodbye on before it can close, and it closes
// without error only after it knows that all have left. Whoever sees its connection end has then received every goodbye
// that lies behind that connection.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/bootstrap/connection.h"
#include "transport/bootstrap/control.h"
#include "transport/bootstrap/doorkeeper.h"
#include "transport/bootstrap/event_loop.h"

namespace rondo {

// The binary tree of ranks.
inline int parentOf(int rank) {
  return (rank - 1) / 2;
}
std::vector<int> childrenOf(int rank, int ranks);
bool isInSubtree(int rank, int root);

class ControlTree : public EventHandler {
 public:
  // peers: every rank's Hello, with the communicator's secret. listener is invalid for a rank without children.
  ControlTree(EventLoop& loop, std::vector<wire::Hello> peers, int rank, Fd listener, ControlCallbacks callbacks);

  void onStart() override;
  void onTick(Clock::time_point now) override;
  void onStop() override;
  std::chrono::milliseconds tickPeriod() const override { return std::chrono::milliseconds(20); }

  void link(int peer, Fd fd);
  void raise(const wire::ErrorReport& report);
  void leave();
  void sayAborted();

  // Any thread.
  EventLoop& loop() const { return loop_; }
  std::string describe(int rank) const { return wire::describe(peers_[static_cast<size_t>(rank)]); }
  bool waitAllLeft(const Patience& patience);
  std::vector<int> waitLinked(const Patience& patience);  // parent and children without a link; empty: all have one

  // The thread that destroys the ControlPlane: after onStop, and in a forked child.
  void drain(Clock::time_point deadline);
  void closeCopies();

 private:
  enum class State : uint8_t { kPresent, kLeft, kLost };

  void onGuest(Fd fd, const wire::Hello& hello);
  void onFrame(int peer, wire::FrameType type, const std::vector<char>& payload);
  void onClosed(int peer, const std::string& why);
  void spread(const wire::ErrorReport& report, int from);
  void mark(const std::vector<int>& ranks, State state, int from);
  void flood(wire::FrameType type, const std::vector<char>& payload, int except);
  void publish();
  bool isBehind(int rank, int peer) const;

  EventLoop& loop_;
  const std::vector<wire::Hello> peers_;
  const int rank_;
  const int ranks_;
  const ControlCallbacks callbacks_;
  std::unique_ptr<Doorkeeper> door_;
  std::map<int, std::shared_ptr<Connection>> links_;
  std::vector<State> states_;  // of each rank; only ever from kPresent to another
  bool failed_ = false;
  wire::ErrorReport error_;  // valid when failed_

  std::mutex mutex_;  // protects what follows; a leaf lock
  std::condition_variable changed_;
  std::vector<int> unlinked_;  // parent and children without a link
  bool allLeft_ = false;
};

}  // namespace rondo
