// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/wave.h"

#include <algorithm>

#include "device/emu/grid.h"

namespace rondo::emu {

Wave::Wave(Block& block, unsigned index, unsigned waveSize, bool lanesOfTheirOwn, Progress model, Grid& grid)
    : block_(block), index_(index), size_(waveSize), model_(model) {
  lanes_.resize(lanesOfTheirOwn ? waveSize : 1);
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.wave = this;
    lane.index = i;
    lane.alone = lanes_.size() == 1;
    lane.stopsAtOperations = !lane.alone && model == Progress::kLockstep;
    lane.moved = &grid.moved;
    lane.watches = &grid.watches;
  }
}

void Wave::prepare(void (*entry)(void*), void* argument) {
  Lanes all;
  for (Lane& lane : lanes_) {
    lane.fiber.prepare(entry, argument);
    lane.stop = Stop::kReady;
    lane.scope = 0;
    all.push_back(&lane);
  }
  scopes_.clear();
  fronts_.assign(1, std::move(all));
}

void Wave::resume(Lane& lane) {
  currentLane = &lane;
  lane.stop = Stop::kReady;
  lane.fiber.resume();
}

WaveState Wave::run() {
  if (lanes_.size() == 1 || model_ == Progress::kIndependent) return runIndependent();
  return runLockstep();
}

void Wave::leaveBlockBarrier() {
  Lanes all;
  for (Lane& lane : lanes_) {
    if (lane.stop != Stop::kBlockBarrier) continue;
    lane.stop = Stop::kReady;
    all.push_back(&lane);
  }
  if (!all.empty()) fronts_.assign(1, std::move(all));
}

// Independent progress: any lane may go next. Lanes that pause go on at the wave's next turn.
WaveState Wave::runIndependent() {
  for (Lane& lane : lanes_) {
    if (lane.stop == Stop::kPause) lane.stop = Stop::kReady;
  }
  for (;;) {
    unsigned paused = 0, atOperation = 0, atBarrier = 0;
    for (Lane& lane : lanes_) {
      if (lane.stop == Stop::kReady) resume(lane);
      paused += lane.stop == Stop::kPause;
      atOperation += lane.stop == Stop::kWaveOperation;
      atBarrier += lane.stop == Stop::kBlockBarrier;
    }
    if (paused > 0) return WaveState::kPaused;
    if (atOperation == 0 && atBarrier == 0) return WaveState::kDone;
    if (atBarrier == 0) {
      resolveWaveOperation();
      continue;
    }
    if (atOperation == 0) return WaveState::kAtBlockBarrier;
    deviceFault(*this, "divergent wave operation: some lanes are at a wave operation, others at a block barrier");
  }
}

void Wave::checkSameOperation(const Lane& first, const Lane& other) const {
  if (other.operation != first.operation || !(other.site == first.site))
    deviceFault(*this, "divergent wave operation: lanes are at different wave operations");
}

// All live lanes are at a wave operation: computes each one's result and lets them go on.
bool Wave::resolveWaveOperation() {
  const Lane* first = nullptr;
  uint64_t ballot = 0;
  uint64_t least = ~uint64_t{0};
  for (const Lane& lane : lanes_) {
    if (lane.stop == Stop::kDone) continue;
    if (lane.stop != Stop::kWaveOperation) return false;
    if (first == nullptr) first = &lane;
    checkSameOperation(*first, lane);
    if (lane.value != 0) ballot |= uint64_t{1} << lane.index;
    least = std::min(least, lane.value);
  }
  if (first == nullptr) return false;
  uint64_t values[64];
  if (first->operation == WaveOperation::kShuffle) {
    for (const Lane& lane : lanes_) values[lane.index] = lane.value;
  }
  for (Lane& lane : lanes_) {
    if (lane.stop != Stop::kWaveOperation) continue;
    switch (lane.operation) {
      case WaveOperation::kSync:
        break;
      case WaveOperation::kBallot:
        lane.value = ballot;
        break;
      case WaveOperation::kShuffle:
        lane.value = values[lane.source];
        break;
      case WaveOperation::kMin:
        lane.value = least;
        break;
    }
    lane.stop = Stop::kReady;
  }
  return true;
}

}  // namespace rondo::emu
