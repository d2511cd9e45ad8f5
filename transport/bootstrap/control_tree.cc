// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control_tree.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo {

namespace {
constexpr std::chrono::milliseconds kSlice{50};
}

std::vector<int> childrenOf(int rank, int ranks) {
  std::vector<int> children;
  for (int child = 2 * rank + 1; child <= 2 * rank + 2; ++child)
    if (child < ranks) children.push_back(child);
  return children;
}

bool isInSubtree(int rank, int root) {
  while (rank > root) rank = parentOf(rank);
  return rank == root;
}

ControlTree::ControlTree(EventLoop& loop, std::vector<wire::Hello> peers, int rank, Fd listener,
                         ControlCallbacks callbacks)
    : loop_(loop),
      peers_(std::move(peers)),
      rank_(rank),
      ranks_(static_cast<int>(peers_.size())),
      callbacks_(std::move(callbacks)),
      states_(peers_.size(), State::kPresent),
      unlinked_(childrenOf(rank, ranks_)) {
  if (rank_ > 0) unlinked_.push_back(parentOf(rank_));
  if (listener.valid())
    door_ = std::make_unique<Doorkeeper>(loop_, std::move(listener), peers_[0],
                                         fmt::format("control connections of rank {}", rank_),
                                         [this](Fd fd, const wire::Hello& hello) { onGuest(std::move(fd), hello); });
}

void ControlTree::onStart() {
  if (door_) door_->open();
}

void ControlTree::onStop() {
  if (door_) door_->close();
  for (auto& [peer, connection] : links_) connection->detach();
}

void ControlTree::onTick(Clock::time_point now) {
  if (door_) door_->tick(now);
  if (callbacks_.onTick) callbacks_.onTick();
}

void ControlTree::onGuest(Fd fd, const wire::Hello& hello) {
  const auto children = childrenOf(rank_, ranks_);
  const bool isChild = std::find(children.begin(), children.end(), hello.rank) != children.end();
  if (!isChild || links_.contains(hello.rank) || hello.version != wire::kVersion) {
    RONDO_WARN("control connections of rank {}: dropped {}: no child of this rank, or connected already", rank_,
               wire::describe(hello));
    return;
  }
  // Closed before the last link is announced: from then on the rank holds its links and nothing else.
  const bool last = std::all_of(children.begin(), children.end(),
                                [&](int child) { return child == hello.rank || links_.contains(child); });
  if (last) door_->close();
  link(hello.rank, std::move(fd));
}

void ControlTree::link(int peer, Fd fd) {
  links_[peer] =
      Connection::open(loop_, std::move(fd),
                       {[this, peer](wire::FrameType type, std::vector<char> payload) { onFrame(peer, type, payload); },
                        [this, peer](const std::string& why) { onClosed(peer, why); }});
  // Something may have happened on the other links meanwhile.
  std::vector<int> left, lost;
  for (int rank = 0; rank < ranks_; ++rank) {
    const State state = states_[static_cast<size_t>(rank)];
    if (state != State::kPresent && !isBehind(rank, peer)) (state == State::kLeft ? left : lost).push_back(rank);
  }
  if (!left.empty()) links_[peer]->send(wire::FrameType::kLeft, wire::packRanks(left));
  if (!lost.empty()) links_[peer]->send(wire::FrameType::kLost, wire::packRanks(lost));
  if (failed_) links_[peer]->send(wire::FrameType::kError, wire::packError(error_));
  std::lock_guard lock(mutex_);
  std::erase(unlinked_, peer);
  changed_.notify_all();
}

void ControlTree::onFrame(int peer, wire::FrameType type, const std::vector<char>& payload) {
  if (type == wire::FrameType::kError) return spread(wire::unpackError(payload), peer);
  const bool left = type == wire::FrameType::kLeft;
  const auto ranks = wire::unpackRanks(payload, ranks_);
  if ((left || type == wire::FrameType::kLost) && !ranks.empty())
    return mark(ranks, left ? State::kLeft : State::kLost, peer);
  spread({ncclInternalError, peer, fmt::format("{} sent an unexpected control message", describe(peer))}, rank_);
}

void ControlTree::flood(wire::FrameType type, const std::vector<char>& payload, int except) {
  const auto shared = std::make_shared<const std::vector<char>>(payload);
  for (auto& [peer, connection] : links_)
    if (peer != except) connection->send(type, shared);
}

void ControlTree::raise(const wire::ErrorReport& report) {
  spread(report, rank_);
}

void ControlTree::spread(const wire::ErrorReport& report, int from) {
  if (failed_) return;
  failed_ = true;
  error_ = report;
  // First the others, then this rank: its callback may take a while.
  flood(wire::FrameType::kError, wire::packError(report), from);
  if (callbacks_.onError) callbacks_.onError(report.code, report.peer, report.text);
}

void ControlTree::leave() {
  mark({rank_}, State::kLeft, rank_);
}

void ControlTree::sayAborted() {
  if (failed_ || states_[static_cast<size_t>(rank_)] == State::kLeft) return;
  failed_ = true;
  const wire::ErrorReport report{ncclRemoteError, rank_, fmt::format("{} aborted the communicator", describe(rank_))};
  flood(wire::FrameType::kError, wire::packError(report), rank_);
}

void ControlTree::mark(const std::vector<int>& ranks, State state, int from) {
  std::vector<int> news;
  for (const int rank : ranks) {
    if (states_[static_cast<size_t>(rank)] != State::kPresent) continue;
    states_[static_cast<size_t>(rank)] = state;
    news.push_back(rank);
  }
  if (news.empty()) return;
  flood(state == State::kLeft ? wire::FrameType::kLeft : wire::FrameType::kLost, wire::packRanks(news), from);
  publish();
}

bool ControlTree::isBehind(int rank, int peer) const {
  return peer > rank_ ? isInSubtree(rank, peer) : !isInSubtree(rank, rank_);
}

void ControlTree::onClosed(int peer, const std::string& why) {
  std::vector<int> lost;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (states_[static_cast<size_t>(rank)] == State::kPresent && isBehind(rank, peer)) lost.push_back(rank);
  }
  if (lost.empty()) return;
  const bool peerHadLeft = states_[static_cast<size_t>(peer)] == State::kLeft;
  const std::string text = peerHadLeft ? fmt::format("{} has ended before {} had left the communicator ({})",
                                                     describe(peer), wire::rankText(lost), why)
                                       : fmt::format("{} has closed its connection ({})", describe(peer), why);
  spread({ncclRemoteError, peer, text}, peer);
  mark(lost, State::kLost, peer);  // they are out of reach for everyone on this side of the break
}

void ControlTree::publish() {
  const bool all = std::none_of(states_.begin(), states_.end(), [](State state) { return state == State::kPresent; });
  std::lock_guard lock(mutex_);
  allLeft_ = all;
  changed_.notify_all();
}

bool ControlTree::waitAllLeft(const Patience& patience) {
  std::unique_lock lock(mutex_);
  while (!allLeft_) {
    lock.unlock();
    if ((patience.aborted && patience.aborted()) || Clock::now() >= patience.deadline) return false;
    lock.lock();
    changed_.wait_until(lock, std::min(Clock::now() + kSlice, patience.deadline), [this] { return allLeft_; });
  }
  return true;
}

std::vector<int> ControlTree::waitLinked(const Patience& patience) {
  std::unique_lock lock(mutex_);
  while (!unlinked_.empty() && Clock::now() < patience.deadline) {
    lock.unlock();
    patience.check();
    lock.lock();
    changed_.wait_until(lock, std::min(Clock::now() + kSlice, patience.deadline), [this] { return unlinked_.empty(); });
  }
  return unlinked_;
}

void ControlTree::drain(Clock::time_point deadline) {
  for (auto& [peer, connection] : links_) connection->drain(deadline);
}

void ControlTree::closeCopies() {
  for (auto& [peer, connection] : links_) connection->closeCopy();
  if (door_) door_->closeCopies();
}

}  // namespace rondo
