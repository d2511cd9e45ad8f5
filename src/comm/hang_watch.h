// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// HangWatch: decides when a rank's wait has lasted too long (RONDO_CALL_TIMEOUT), and which rank is to blame. The rank that
// a kernel waits for often only waits itself. So all ranks are asked first; each that is alive tells what it has called
// and whom it waits for. One that tells nothing is stopped; else the one that has made the fewest calls is behind; else the
// waits are followed to the rank that does not wait. Owned by the communicator; service thread only; touches nothing but
// its own state.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

// What a rank tells the others, as plain bytes.
struct RankStatus {
  uint64_t called;    // the sequence of its last call
  uint64_t waitsIn;   // the call that its kernel waits in; 0: it does not wait
  int32_t waitsFor;   // that wait's peer
  uint32_t isAsking;  // the others shall tell theirs
};

struct Blame {
  enum class Reason : uint8_t { kSilent, kNotCalled, kNotMoving, kCircle };
  int rank;
  Reason reason;
  uint64_t called;  // its last call; not for kSilent
};

class HangWatch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Step : uint8_t { kNothing, kAsk, kJudge };

  // Without a limit (0) a rank only answers others.
  HangWatch(int rank, int ranks, std::chrono::seconds limit) : rank_(rank), ranks_(ranks), limit_(limit) {}

  bool hasLimit() const { return limit_.count() > 0; }

  // Now and then. waits stands for all that the kernels wait for: it changes when one of them moves; 0: none waits. The
  // answer says what is to be done: ask all ranks, or judge. Time in which this process was stopped does not count.
  Step tick(uint64_t waits, Clock::time_point now);

  // Another rank's status.
  void hear(int rank, const RankStatus& status, Clock::time_point now);

  // Is this rank's status to be told, as another asks? Not if that has just been done.
  bool shallTell(Clock::time_point now);

  // own: this rank's, which waits.
  Blame judge(const RankStatus& own, Clock::time_point now) const;

  std::chrono::seconds waited() const { return std::chrono::duration_cast<std::chrono::seconds>(waited_); }

 private:
  struct Heard {
    RankStatus status;
    Clock::time_point at;
  };

  const RankStatus* statusOf(int rank, Clock::time_point now) const;
  std::optional<int> silentRank(Clock::time_point now) const;

  const int rank_;
  const int ranks_;
  const std::chrono::seconds limit_;
  std::map<int, Heard> heard_;
  uint64_t waits_ = 0;
  Clock::time_point lastTick_{};
  Clock::time_point lastTold_{};
  Clock::duration waited_{};
  std::optional<Clock::duration> askedAt_;  // as waited_
};

}  // namespace rondo
