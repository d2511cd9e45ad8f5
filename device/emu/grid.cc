// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/grid.h"

#include <sched.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "device/emu/idle_help.h"

namespace rondo::emu {

constinit thread_local Lane* currentLane __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

void runLane(void* kernel) {
  (*static_cast<const std::function<void()>*>(kernel))();
  Lane& lane = *currentLane;
  ++*lane.moved;
  lane.stop = Stop::kDone;
  lane.fiber.finish();
}

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// What a kernel's thread does after a round in which no lane stored anything: it helps the host code that the kernel may
// wait for (idle_help.h), and returns when a word that the round had loaded has changed, or after a while, as lanes also
// look at the clock. Yields that come back at once mean that nobody else needs this core: then it goes on looking, as a
// nap costs ten times what it was set to where the core falls asleep (0.1 ms seen for 10 us in a virtual machine). Yields
// that take long have let somebody run who needs this core: after some of them the thread naps at once. A single one is
// most likely this process's proxy, which looks round now and then.
class Backoff {
 public:
  void reset() {
    naps_ = 0;
    idleSince_ns_ = 0;
  }

  void wait(const WatchList& watches) {
    uint64_t now = now_ns();
    if (idleSince_ns_ == 0) idleSince_ns_ = now;
    const uint64_t end_ns = now + kRoundPeriod_ns;
    unsigned longYields = 0;
    while (!watches.changed() && now < end_ns) {
      const bool helped = helpOthers();
      const uint64_t start_ns = now_ns();
      if (helped) idleSince_ns_ = start_ns;
      if (start_ns - idleSince_ns_ < kYieldFor_ns && longYields < kMostLongYields) {
        sched_yield();
        now = now_ns();
        longYields = now - start_ns < kLongYield_ns ? 0 : longYields + 1;
      } else {
        nap();
        now = now_ns();
      }
    }
  }

 private:
  void nap() {
    ++naps_;
    const timespec duration{0, naps_ <= kShortNaps ? 10'000 : (naps_ <= kLongNaps ? 50'000 : 200'000)};
    nanosleep(&duration, nullptr);
  }

  static constexpr uint64_t kRoundPeriod_ns = 200'000;
  static constexpr uint64_t kYieldFor_ns = 2'000'000;  // since something moved last
  static constexpr uint64_t kLongYield_ns = 5'000;
  static constexpr unsigned kMostLongYields = 3;
  static constexpr unsigned kShortNaps = 500;
  static constexpr unsigned kLongNaps = kShortNaps + 500;
  unsigned naps_ = 0;
  uint64_t idleSince_ns_ = 0;  // 0: not idle
};

}  // namespace

Block::Block(const GridSpec& spec, Grid& grid, unsigned index) : grid_(grid), index_(index) {
  const unsigned waves = spec.threads / spec.waveSize;
  for (unsigned i = 0; i < waves; ++i)
    waves_.emplace_back(*this, i, spec.waveSize, i < spec.laneWaves, spec.model, grid);
  states_.assign(waves, WaveState::kPaused);
  shared_.reset(static_cast<char*>(::operator new[](kSharedMemoryBytes, std::align_val_t{128})));
}

void Block::prepare(void (*entry)(void*), void* argument) {
  for (Wave& wave : waves_) wave.prepare(entry, argument);
}

bool Block::run() {
  unsigned alive = 0, atBarrier = 0;
  for (size_t i = 0; i < waves_.size(); ++i) {
    if (states_[i] == WaveState::kPaused) states_[i] = waves_[i].run();
    alive += states_[i] != WaveState::kDone;
    atBarrier += states_[i] == WaveState::kAtBlockBarrier;
  }
  if (atBarrier > 0 && atBarrier == alive) {
    ++grid_.moved;
    for (size_t i = 0; i < waves_.size(); ++i) {
      if (states_[i] != WaveState::kAtBlockBarrier) continue;
      waves_[i].leaveBlockBarrier();
      states_[i] = WaveState::kPaused;
    }
  }
  return alive > 0;
}

void runGrid(const GridSpec& spec, const std::function<void()>& kernel) {
  Grid grid{spec, 0, {}};
  std::deque<Block> blocks;
  for (unsigned i = 0; i < spec.blocks; ++i) {
    blocks.emplace_back(spec, grid, i);
    blocks.back().prepare(&runLane, const_cast<std::function<void()>*>(&kernel));
  }
  Backoff backoff;
  for (;;) {
    const uint64_t before = grid.moved;
    grid.watches.clear();
    bool alive = false;
    for (Block& block : blocks) alive = block.run() || alive;
    if (!alive) break;
    if (grid.moved == before) {
      backoff.wait(grid.watches);
    } else {
      backoff.reset();
    }
  }
  currentLane = nullptr;
  helpOthers();  // what the kernel did last is on its way when it ends
}

uint64_t waveOperation(WaveOperation operation, uint64_t value, unsigned source, const Site& site) {
  Lane& lane = *currentLane;
  if (lane.alone) {
    if (operation != WaveOperation::kBallot) return value;
    const unsigned size = lane.wave->size();
    return value == 0 ? 0 : (size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1);
  }
  lane.operation = operation;
  lane.value = value;
  lane.source = source;
  stopLane(lane, Stop::kWaveOperation, site);
  return lane.value;
}

void enterScope(const Site& site) {
  Lane& lane = *currentLane;
  if (!lane.stopsAtOperations) return;
  stopLane(lane, Stop::kOperation, site);
  lane.scope = lane.wave->pushScope();
}

void leaveScope(const Site& site) {
  Lane& lane = *currentLane;
  if (!lane.stopsAtOperations) return;
  stopLane(lane, Stop::kScopeEnd, site);
}

void deviceFault(const Wave& wave, const char* what) {
  std::fprintf(stderr, "rondo: emulated device: block %u wave %u: %s\n", wave.block().index(), wave.index(), what);
  std::abort();
}

}  // namespace rondo::emu
