// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A wave of the emulated device: its lanes, and the rule by which they advance (the two progress models). A worker
// wave, whose code is lane-uniform, is a single lane that stands for all. Run by its block's grid on one OS thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "device/emu/lane.h"
#include "device/emu/options.h"

namespace rondo::emu {

enum class WaveState { kPaused, kAtBlockBarrier, kDone };

class Wave {
 public:
  Wave(Block& block, unsigned index, unsigned waveSize, bool lanesOfTheirOwn, Progress model, Grid& grid);

  void prepare(void (*entry)(void*), void* argument);

  // Runs the wave until it can do nothing more without others.
  WaveState run();
  void leaveBlockBarrier();

  Block& block() const { return block_; }
  unsigned index() const { return index_; }
  unsigned size() const { return size_; }
  unsigned pushScope();

 private:
  using Lanes = std::vector<Lane*>;
  // Lockstep: lanes that entered a Reconverge scope together, expected together at its end.
  struct Scope {
    unsigned id;
    unsigned outer;
    Lanes members;
  };

  void resume(Lane& lane);
  WaveState runIndependent();
  WaveState runLockstep();
  bool stepFront();
  void splitFront();
  bool joinScopes();
  bool resolveWaveOperation();
  void checkSameOperation(const Lane& first, const Lane& other) const;

  Block& block_;
  unsigned index_;
  unsigned size_;
  Progress model_;
  std::deque<Lane> lanes_;  // a deque: lanes do not move
  // Lockstep state: fronts waiting for their turn, the last one is active. Lanes at joins are in no front.
  std::vector<Lanes> fronts_;
  std::vector<Scope> scopes_;
  Lanes active_;               // the front that executes
  unsigned enteredScope_ = 0;  // the scope that the active front has entered in this step
  unsigned nextScope_ = 1;
};

}  // namespace rondo::emu
