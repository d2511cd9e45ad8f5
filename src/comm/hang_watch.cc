// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/hang_watch.h"

#include <algorithm>

#include "transport/bootstrap/tree_gather.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A tick that comes later than this: the process was stopped, or its machine stood still.
constexpr milliseconds kMostPerTick{500};
// How long a rank may take to answer: its service thread does little else.
constexpr seconds kAnswerTime{3};
// Ranks begin to wait at about the same time, so that what one has told before another asked counts.
constexpr seconds kFresh{6};
// A thousand ranks that ask at the same time shall not each be answered by a thousand.
constexpr seconds kTellPeriod{1};

// The control plane's tree: what 'from' tells goes by this rank before it comes to 'to'.
int nextRankTowards(int to, int from) {
  for (const int child : {2 * from + 1, 2 * from + 2})
    if (isInSubtree(to, child)) return child;
  return parentOf(from);
}

}  // namespace

HangWatch::Step HangWatch::tick(uint64_t waits, Clock::time_point now) {
  const auto passed = std::min<Clock::duration>(now - lastTick_, kMostPerTick);
  lastTick_ = now;
  if (waits != waits_ || waits == 0) {
    waits_ = waits;
    waited_ = {};
    askedAt_.reset();
    return Step::kNothing;
  }
  waited_ += passed;
  if (!hasLimit() || waited_ < limit_) return Step::kNothing;
  if (!askedAt_) {
    askedAt_ = waited_;
    lastTold_ = now;  // asking tells, too
    return Step::kAsk;
  }
  return !silentRank(now) || waited_ - *askedAt_ >= kAnswerTime ? Step::kJudge : Step::kNothing;
}

void HangWatch::hear(int rank, const RankStatus& status, Clock::time_point now) {
  heard_[rank] = {status, now};
}

bool HangWatch::shallTell(Clock::time_point now) {
  if (now - lastTold_ < kTellPeriod) return false;
  lastTold_ = now;
  return true;
}

const RankStatus* HangWatch::statusOf(int rank, Clock::time_point now) const {
  const auto found = heard_.find(rank);
  return found != heard_.end() && now - found->second.at <= kFresh ? &found->second.status : nullptr;
}

// One behind another silent one may have told much: it does not get here.
std::optional<int> HangWatch::silentRank(Clock::time_point now) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_ || statusOf(rank, now) != nullptr) continue;
    const int next = nextRankTowards(rank_, rank);
    if (next == rank_ || statusOf(next, now) != nullptr) return rank;
  }
  return std::nullopt;
}

Blame HangWatch::judge(const RankStatus& own, Clock::time_point now) const {
  if (const auto silent = silentRank(now)) return {*silent, Blame::Reason::kSilent, 0};
  int behind = own.waitsFor;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_ && statusOf(rank, now)->called < statusOf(behind, now)->called) behind = rank;
  }
  if (const uint64_t called = statusOf(behind, now)->called; called < own.waitsIn)
    return {behind, Blame::Reason::kNotCalled, called};
  // All have made the call.
  int rank = own.waitsFor;
  for (int visited = 0; visited < ranks_ && rank != rank_; ++visited) {
    const RankStatus& status = *statusOf(rank, now);
    if (status.waitsIn == 0) return {rank, Blame::Reason::kNotMoving, status.called};
    rank = status.waitsFor;
    if (rank < 0 || rank >= ranks_) break;
  }
  return {own.waitsFor, Blame::Reason::kCircle, statusOf(own.waitsFor, now)->called};
}

}  // namespace rondo
