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

// What a kernel's thread does after a round in which no lane stored anything: the peers it waits for may need this core.
// It helps those (idle_help.h), and returns when a word that the round had loaded has changed, or after a nap: lanes also
// look at the clock.
class Backoff {
 public:
  void reset() { naps_ = 0; }
  void wait(const WatchList& watches) {
    for (unsigned i = 0; i < kYields; ++i) {
      if (watches.changed()) return;
      if (helpOthers()) {
        i = 0;
      } else {
        sched_yield();
      }
    }
    ++naps_;
    const long nap_ns = naps_ <= kShortNaps ? 5'000 : (naps_ <= kLongNaps ? 50'000 : 200'000);
    const timespec duration{0, nap_ns};
    nanosleep(&duration, nullptr);
  }

 private:
  static constexpr unsigned kYields = 50;
  static constexpr unsigned kShortNaps = 500;
  static constexpr unsigned kLongNaps = kShortNaps + 500;
  unsigned naps_ = 0;
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
