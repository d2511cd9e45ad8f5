// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A lane of the emulated device and the points at which it stops. Lanes of one grid run on one OS thread; the seam
// (device/arch/arch_emu.h) reaches the running lane through currentLane.
#pragma once

#include <cstdint>

#include "device/emu/fiber.h"

namespace rondo::emu {

class Wave;
class Block;
struct Grid;

// A seam call's place in the source: with the innermost scope it tells which lanes stand at the same call.
struct Site {
  const char* file;
  int line;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  friend bool operator==(const Site&, const Site&) = default;
};

// Why a lane is not running.
enum class Stop : uint8_t {
  kReady,          // may go on
  kOperation,      // lockstep only: stands before an access, a scope's entry or any other call that is no join
  kPause,          // in spinPause
  kWaveOperation,  // join: waits for the other lanes of its wave
  kScopeEnd,       // lockstep only, join: end of a Reconverge scope
  kBlockBarrier,   // join: waits for the other waves of its block
  kDone            // returned from the kernel
};

enum class WaveOperation : uint8_t { kSync, kBallot, kShuffle, kMin };

// What the lanes of a grid have loaded in one round of the scheduler. A round that stored nothing would go the same way
// again until one of these words changes: comparing them costs a hundredth of running the lanes.
class WatchList {
 public:
  void clear() { count_ = 0; }

  void add(const uint64_t& word, uint64_t value) {
    if (count_ > 0 && count_ <= kMost && entries_[count_ - 1].word == &word) return;  // lanes side by side; the first value counts
    if (count_ < kMost) entries_[count_] = {&word, value};
    ++count_;
  }

  // True also when the list could not hold everything.
  bool changed() const {
    if (count_ > kMost) return true;
    for (unsigned i = 0; i < count_; ++i)
      if (__atomic_load_n(entries_[i].word, __ATOMIC_RELAXED) != entries_[i].value) return true;
    return false;
  }

 private:
  struct Entry {
    const uint64_t* word;
    uint64_t value;
  };
  static constexpr unsigned kMost = 256;
  unsigned count_ = 0;
  Entry entries_[kMost];
};

struct Lane {
  Fiber fiber;
  Wave* wave = nullptr;
  unsigned index = 0;
  Stop stop = Stop::kReady;
  bool stopsAtOperations = false;  // lockstep model and the wave has lanes of their own
  bool alone = false;              // this fiber is the whole wave
  Site site = {};
  WaveOperation operation = WaveOperation::kSync;
  uint64_t value = 0;         // what the lane brings to a wave operation, then its result
  unsigned source = 0;        // of a shuffle
  unsigned scope = 0;         // innermost Reconverge scope, 0: none
  uint64_t* moved = nullptr;  // counts stores of the grid: a round of the scheduler without any found nothing to do
  WatchList* watches = nullptr;  // the grid's
};

// constinit: no initialiser call at each use.
extern constinit thread_local Lane* currentLane __attribute__((tls_model("initial-exec")));

// Stops the running lane; it goes on when its wave lets it.
inline void stopLane(Lane& lane, Stop stop, const Site& site) {
  lane.stop = stop;
  lane.site = site;
  lane.fiber.suspend();
}

// Before every access to shared words and payload.
inline void point(const Site& site) {
  Lane& lane = *currentLane;
  if (lane.stopsAtOperations) stopLane(lane, Stop::kOperation, site);
}

inline void countStore() {
  ++*currentLane->moved;
}

// After every load of a shared word: its value decides what the lane does next.
inline uint64_t noteLoad(const uint64_t& word, uint64_t value) {
  currentLane->watches->add(word, value);
  return value;
}

// A converged operation; returns this lane's result.
uint64_t waveOperation(WaveOperation operation, uint64_t value, unsigned source, const Site& site);

void enterScope(const Site& site);
void leaveScope(const Site& site);

// Ends the process with a message: the device code broke a rule of its own (a fault of Rondo's, not the user's).
[[noreturn]] void deviceFault(const Wave& wave, const char* what);

}  // namespace rondo::emu
