// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control_tree.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo {

namespace {
constexpr std::chrono::milliseconds kSlice{50};

// How long a neighbour's host may be silent. A link that is down for 20 s and comes back does no harm: what was sent
// meanwhile is sent again after 25 s at the latest, as TCP doubles its pauses, and the idle ask every 5 s. After 60 s
// it is taken for gone.
constexpr std::chrono::seconds kMostSilence{60};
constexpr std::chrono::seconds kReachCheckPeriod{1};

int levelsFrom(int rank, int ranks) {
  int levels = 0;
  for (int64_t leftmost = rank; leftmost < ranks; leftmost = 2 * leftmost + 1) ++levels;
  return levels;
}
}  // namespace

ControlTree::ControlTree(EventLoop& loop, std::vector<wire::Hello> peers, int rank, Fd listener,
                         ControlCallbacks callbacks)
    : loop_(loop),
      peers_(std::move(peers)),
      rank_(rank),
      ranks_(static_cast<int>(peers_.size())),
      callbacks_(std::move(callbacks)),
      gather_(rank, ranks_),
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
  for (auto& [peer, connection] : watches_) connection->close();
  if (watchedBy_) watchedBy_->close();
}

void ControlTree::onTick(Clock::time_point now) {
  if (door_) door_->tick(now);
  if (const std::string plight = door_ ? door_->plight() : ""; !plight.empty())
    spread({ncclSystemError, rank_, fmt::format("{} cannot let its neighbours in: {}", describe(rank_), plight)}, rank_);
  if (now >= nextReachCheck_) checkReach(now);
  if (callbacks_.onTick) callbacks_.onTick();
}

void ControlTree::checkReach(Clock::time_point now) {
  nextReachCheck_ = now + kReachCheckPeriod;
  for (auto& [peer, connection] : links_) connection->checkReach(kMostSilence);
  // A watch goes when its link comes, so not while this loop runs.
  for (auto& [peer, connection] : watches_) connection->checkReach(kMostSilence);
}

void ControlTree::onGuest(Fd fd, const wire::Hello& hello) {
  const bool sameVersion = hello.version == wire::kVersion;
  if (sameVersion && rank_ > 0 && hello.rank == parentOf(rank_) && !watchedBy_) {
    watchedBy_ = Connection::open(loop_, std::move(fd), {});
    return;
  }
  const auto children = childrenOf(rank_, ranks_);
  const bool isChild = std::find(children.begin(), children.end(), hello.rank) != children.end();
  if (!sameVersion || !isChild || links_.contains(hello.rank)) {
    RONDO_WARN("control connections of rank {}: dropped {}: no neighbour of this rank, or connected already", rank_,
               wire::describe(hello));
    return;
  }
  link(hello.rank, std::move(fd));
}

// The watch ends with the child's process, whether it has looked at the connection or not.
void ControlTree::watch(int child, Fd fd) {
  if (links_.contains(child)) return;
  auto& connection = watches_[child];
  connection =
      Connection::open(loop_, std::move(fd), {{}, [this, child](const std::string& what) { onClosed(child, what); }});
  connection->watchReach();
}

void ControlTree::link(int peer, Fd fd) {
  links_[peer] = Connection::open(
      loop_, std::move(fd),
      {[this, peer](wire::FrameType type, std::vector<char> payload) { onFrame(peer, type, std::move(payload)); },
       [this, peer](const std::string& what) { onClosed(peer, what); }});
  links_[peer]->watchReach();
  if (peer > rank_) links_[peer]->send(wire::FrameType::kWelcome);
  if (const auto watch = watches_.find(peer); watch != watches_.end()) {
    watch->second->close();
    watches_.erase(watch);
  }
  // Something may have happened on the other links meanwhile.
  std::vector<int> left, lost;
  for (int rank = 0; rank < ranks_; ++rank) {
    const State state = states_[static_cast<size_t>(rank)];
    if (state != State::kPresent && !isBehind(rank, peer)) (state == State::kLeft ? left : lost).push_back(rank);
  }
  if (!left.empty()) links_[peer]->send(wire::FrameType::kLeft, wire::packRanks(left));
  if (!lost.empty()) links_[peer]->send(wire::FrameType::kLost, wire::packRanks(lost));
  if (failed_) links_[peer]->send(wire::FrameType::kError, wire::packError(error_));
  if (peer > rank_) dropNeighbour(peer);
}

void ControlTree::onFrame(int peer, wire::FrameType type, std::vector<char> payload) {
  if (type == wire::FrameType::kError) return spread(wire::unpackError(payload), peer);
  if (type == wire::FrameType::kNote) return passOnNote(peer, payload);
  if (type == wire::FrameType::kWelcome && peer < rank_) return dropNeighbour(peer);
  try {
    if (type == wire::FrameType::kGather && peer > rank_) {
      gather_.add(peer, payload);
      return advance();
    }
    if (type == wire::FrameType::kGathered && peer < rank_) return deliver(std::move(payload));
  } catch (const Error& error) {
    return spread({error.code(), error.peer(), error.text()}, rank_);
  }
  const bool left = type == wire::FrameType::kLeft;
  const auto ranks = wire::unpackRanks(payload, ranks_);
  if ((left || type == wire::FrameType::kLost) && !ranks.empty())
    return mark(ranks, left ? State::kLeft : State::kLost, peer);
  spread({ncclInternalError, peer, fmt::format("{} sent an unexpected control message", describe(peer))}, rank_);
}

void ControlTree::contribute(std::vector<char> payload) {
  if (failed_) return;  // the wait throws it
  try {
    gather_.add(rank_, payload);
    advance();
  } catch (const Error& error) {
    spread({error.code(), error.peer(), error.text()}, rank_);
  }
}

void ControlTree::advance() {
  if (!gather_.complete()) return;
  if (rank_ == 0) return deliver(gather_.joined());
  links_.at(parentOf(rank_))->send(wire::FrameType::kGather, gather_.joined());
}

void ControlTree::deliver(std::vector<char> payload) {
  gather_.finish(payload);
  endMeeting();
  const auto shared = std::make_shared<const std::vector<char>>(std::move(payload));
  for (const int child : childrenOf(rank_, ranks_)) links_.at(child)->send(wire::FrameType::kGathered, shared);
  std::lock_guard lock(mutex_);
  gathered_ = shared;
  changed_.notify_all();
}

// From then on the rank holds its links and nothing else.
void ControlTree::endMeeting() {
  if (door_ && !door_->closed()) door_->close();
  if (watchedBy_) watchedBy_->close();
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
  {
    std::lock_guard lock(mutex_);
    told_ = report;
    changed_.notify_all();
  }
  if (callbacks_.onError) callbacks_.onError(report.code, report.peer, report.text);
}

void ControlTree::note(const std::vector<char>& content) {
  const auto origin = static_cast<int32_t>(rank_);
  std::vector<char> payload(sizeof(origin) + content.size());
  std::memcpy(payload.data(), &origin, sizeof(origin));
  std::copy(content.begin(), content.end(), payload.begin() + sizeof(origin));
  flood(wire::FrameType::kNote, payload, rank_);
}

void ControlTree::passOnNote(int peer, const std::vector<char>& payload) {
  int32_t origin = -1;
  if (payload.size() >= sizeof(origin)) std::memcpy(&origin, payload.data(), sizeof(origin));
  if (origin < 0 || origin >= ranks_ || !isBehind(origin, peer)) {
    return spread({ncclInternalError, peer, fmt::format("{} sent a note that is not of a rank behind it", describe(peer))},
                  rank_);
  }
  flood(wire::FrameType::kNote, payload, peer);
  if (callbacks_.onNote) callbacks_.onNote(origin, {payload.begin() + sizeof(origin), payload.end()});
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

void ControlTree::onClosed(int peer, const std::string& what) {
  // Whether it is dead or too crowded there shows when the connection is made again.
  if (!failed_ && !isLinked(peer)) return noteTurnedAway(peer);
  std::vector<int> lost;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (states_[static_cast<size_t>(rank)] == State::kPresent && isBehind(rank, peer)) lost.push_back(rank);
  }
  if (lost.empty()) return;
  const bool peerHadLeft = states_[static_cast<size_t>(peer)] == State::kLeft;
  const std::string text = peerHadLeft ? fmt::format("{} has ended before {} had left the communicator: it {}",
                                                     describe(peer), wire::rankText(lost), what)
                                       : fmt::format("{} {}", describe(peer), what);
  dropNeighbour(peer);
  spread({ncclRemoteError, peer, text}, peer);
  mark(lost, State::kLost, peer);  // they are out of reach for everyone on this side of the break
}

void ControlTree::publish() {
  const bool all = std::none_of(states_.begin(), states_.end(), [](State state) { return state == State::kPresent; });
  const auto left = std::find(states_.begin(), states_.end(), State::kLeft);
  std::lock_guard lock(mutex_);
  allLeft_ = all;
  left_ = left == states_.end() ? -1 : static_cast<int>(left - states_.begin());
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

std::vector<int> ControlTree::waitLinkedUnless(bool failed, const Patience& patience) {
  const auto over = [this, failed] {
    return unlinked_.empty() || (failed && (told_ || !turnedAway_.empty()));
  };
  std::unique_lock lock(mutex_);
  while (!over() && Clock::now() < patience.deadline) {
    lock.unlock();
    patience.check();
    lock.lock();
    changed_.wait_until(lock, std::min(Clock::now() + kSlice, patience.deadline), over);
  }
  return unlinked_;
}

void ControlTree::dropNeighbour(int peer) {
  std::lock_guard lock(mutex_);
  std::erase(unlinked_, peer);
  changed_.notify_all();
}

void ControlTree::noteTurnedAway(int peer) {
  std::lock_guard lock(mutex_);
  turnedAway_.push_back(peer);
  changed_.notify_all();
}

std::vector<int> ControlTree::takeTurnedAway() {
  std::lock_guard lock(mutex_);
  return std::exchange(turnedAway_, {});
}

bool ControlTree::hasFailed() {
  std::lock_guard lock(mutex_);
  return told_.has_value();
}

bool ControlTree::isLinked(int peer) {
  std::lock_guard lock(mutex_);
  return std::find(unlinked_.begin(), unlinked_.end(), peer) == unlinked_.end();
}

// Who is late in this exchange: a child that has not given its part. One that waits itself, for a child of its own,
// accuses that before: each level of the tree has a second more. Rank 0 is nobody's child, so that the two ranks below
// it accuse it when it has accused nobody.
void ControlTree::accuse(uint64_t round, Clock::duration late, std::chrono::seconds timeout) {
  if (failed_ || gather_.round() != round || late < std::chrono::seconds(levelsFrom(rank_, ranks_))) return;
  int rank = 0;
  if (!gather_.complete())
    rank = *gather_.missing().begin();
  else if (parentOf(rank_) != 0 || rank_ == 0 || late < std::chrono::seconds(levelsFrom(0, ranks_) + 1))
    return;
  spread({ncclRemoteError, rank,
          fmt::format("{} did not take part in exchange {} within {} s (RONDO_INIT_TIMEOUT)", describe(rank), round,
                      timeout.count())},
         rank_);
}

void ControlTree::waitGathered(uint64_t round, void* all, size_t bytes, const AbortPredicate& aborted,
                               std::chrono::seconds timeout) {
  const auto deadline = Clock::now() + timeout;
  auto nextAccusation = timeout.count() > 0 ? deadline : Clock::time_point::max();
  const auto arrived = [this, round] {
    if (!gathered_) return false;
    GatherHead head;
    std::memcpy(&head, gathered_->data(), sizeof(head));
    return head.round == round;
  };
  std::unique_lock lock(mutex_);
  // The result first: an error that came after it must not make this exchange fail here and succeed elsewhere.
  while (!arrived()) {
    if (told_) throw Error(told_->code, told_->text, told_->peer);
    if (left_ >= 0)
      throw Error(ncclRemoteError, fmt::format("{} has left the communicator during an exchange", describe(left_)),
                  left_);
    lock.unlock();
    Patience{aborted, {}}.check();
    if (const auto now = Clock::now(); now >= nextAccusation) {
      nextAccusation = now + std::chrono::milliseconds(200);
      loop_.post(
          [tree = shared_from_this(), round, late = now - deadline, timeout] { tree->accuse(round, late, timeout); });
    }
    lock.lock();
    changed_.wait_for(lock, kSlice, [&] { return arrived() || told_ || left_ >= 0; });
  }
  if (bytes > 0) std::memcpy(all, gathered_->data() + sizeof(GatherHead), bytes);
}

void ControlTree::drain(Clock::time_point deadline) {
  for (auto& [peer, connection] : links_) connection->drain(deadline);
}

void ControlTree::closeCopies() {
  for (auto& [peer, connection] : links_) connection->closeCopy();
  for (auto& [peer, connection] : watches_) connection->closeCopy();
  if (watchedBy_) watchedBy_->closeCopy();
  if (door_) door_->closeCopies();
}

}  // namespace rondo
