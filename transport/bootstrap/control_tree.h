// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What the service thread does for one rank's control plane (control.h): its place in the tree, its connections, who
// has left, the first error, exchanges. Shared between the ControlPlane and the event loop; everything but the waits
// and describe is for the service thread.
//
// How the ranks meet: every rank listens before any rank knows its address, connects to its parent (the link), and to
// each child that is not linked yet (a watch, which is closed when the link is there). So a neighbour that dies on the
// way is a refused connection, while one that is paused is connected by its kernel. Where strangers crowd at a listener
// it may turn a neighbour away, too: a connection that ends before there is a link is made again. The parent welcomes
// each link, so that its child knows. The first exchange is complete only when all links are there; it ends the meeting.
//
// Why an orderly end is never taken for a death: a rank passes each goodbye on before it can close, and it closes
// without error only after it knows that all have left. Whoever sees its connection end has then received every goodbye
// that lies behind that connection. In the same way the result of an exchange comes before the goodbye of anyone who
// took part in it, and before any error that was raised after it.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/bootstrap/connection.h"
#include "transport/bootstrap/control.h"
#include "transport/bootstrap/doorkeeper.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/tree_gather.h"

namespace rondo {

class ControlTree : public EventHandler, public std::enable_shared_from_this<ControlTree> {
 public:
  // peers: every rank's Hello, with the communicator's secret. listener is invalid where there is only one rank.
  ControlTree(EventLoop& loop, std::vector<wire::Hello> peers, int rank, Fd listener, ControlCallbacks callbacks);

  void onStart() override;
  void onTick(Clock::time_point now) override;
  void onStop() override;
  std::chrono::milliseconds tickPeriod() const override { return std::chrono::milliseconds(20); }

  void link(int peer, Fd fd);
  void watch(int child, Fd fd);
  void contribute(std::vector<char> payload);  // a GatherHead and this rank's entry
  void accuse(uint64_t round, Clock::duration late, std::chrono::seconds timeout);
  void raise(const wire::ErrorReport& report);
  void note(const std::vector<char>& content);
  void leave();
  void sayAborted();

  // Any thread.
  EventLoop& loop() const { return loop_; }
  std::string describe(int rank) const { return wire::describe(peers_[static_cast<size_t>(rank)]); }
  bool waitAllLeft(const Patience& patience);
  // Until parent and children are linked or dropped: those without a link at the deadline. OrFailed: also when an error
  // has come, or when this rank was turned away.
  std::vector<int> waitLinked(const Patience& patience) { return waitLinkedUnless(false, patience); }
  std::vector<int> waitLinkedOrFailed(const Patience& patience) { return waitLinkedUnless(true, patience); }
  void dropNeighbour(int peer);  // a link to it is not waited for any more
  // Parent and children to which this rank's connection has ended before there was a link, since the last call.
  std::vector<int> takeTurnedAway();
  bool hasFailed();
  bool isLinked(int peer);
  // Fills all with the result of the round. Throws the communicator's first error; ncclRemoteError when a rank has
  // left.
  void waitGathered(uint64_t round, void* all, size_t bytes, const AbortPredicate& aborted,
                    std::chrono::seconds timeout);

  // The thread that destroys the ControlPlane: after onStop, and in a forked child.
  void drain(Clock::time_point deadline);
  void closeCopies();

 private:
  enum class State : uint8_t { kPresent, kLeft, kLost };

  void onGuest(Fd fd, const wire::Hello& hello);
  void onFrame(int peer, wire::FrameType type, std::vector<char> payload);
  void onClosed(int peer, const std::string& what);
  void spread(const wire::ErrorReport& report, int from);
  void passOnNote(int peer, const std::vector<char>& payload);
  void mark(const std::vector<int>& ranks, State state, int from);
  void flood(wire::FrameType type, const std::vector<char>& payload, int except);
  void checkReach(Clock::time_point now);
  void publish();
  void advance();
  void deliver(std::vector<char> payload);
  void endMeeting();
  std::vector<int> waitLinkedUnless(bool failed, const Patience& patience);
  bool isBehind(int rank, int peer) const;
  void noteTurnedAway(int peer);

  EventLoop& loop_;
  const std::vector<wire::Hello> peers_;
  const int rank_;
  const int ranks_;
  const ControlCallbacks callbacks_;
  std::unique_ptr<Doorkeeper> door_;
  std::map<int, std::shared_ptr<Connection>> links_;
  std::map<int, std::shared_ptr<Connection>> watches_;  // to children that are not linked yet
  Clock::time_point nextReachCheck_{};
  std::shared_ptr<Connection> watchedBy_;  // the parent's watch; only its end at our death matters
  TreeGather gather_;
  std::vector<State> states_;  // of each rank; only ever from kPresent to another
  bool failed_ = false;
  wire::ErrorReport error_;  // valid when failed_

  std::mutex mutex_;  // protects what follows; a leaf lock
  std::condition_variable changed_;
  std::vector<int> unlinked_;  // parent and children without a link that is waited for
  std::vector<int> turnedAway_;
  bool allLeft_ = false;
  int left_ = -1;                          // the lowest rank that has left
  std::optional<wire::ErrorReport> told_;  // error_, for the waits
  Connection::Payload gathered_;           // the latest result, with its GatherHead
};

}  // namespace rondo
