// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A grid of the emulated device: the blocks of one kernel, run to their end by the calling OS thread (a stream's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "device/emu/wave.h"

namespace rondo::emu {

constexpr size_t kSharedMemoryBytes = 48 * 1024;

struct GridSpec {
  unsigned blocks;
  unsigned threads;    // per block, a multiple of waveSize
  unsigned laneWaves;  // waves [0, laneWaves) have a fiber per lane, the others one fiber each
  unsigned waveSize;
  Progress model;
};

class Block {
 public:
  Block(const GridSpec& spec, Grid& grid, unsigned index);

  void prepare(void (*entry)(void*), void* argument);
  bool run();  // each runnable wave takes a turn; true while some wave lives

  unsigned index() const { return index_; }
  const Grid& grid() const { return grid_; }
  void* shared() { return shared_.get(); }

 private:
  struct AlignedDelete {
    void operator()(char* memory) const { ::operator delete[](memory, std::align_val_t{128}); }
  };

  Grid& grid_;
  unsigned index_;
  std::deque<Wave> waves_;
  std::vector<WaveState> states_;
  std::unique_ptr<char[], AlignedDelete> shared_;
};

struct Grid {
  GridSpec spec;
  uint64_t moved = 0;  // stores and barriers so far
  WatchList watches;   // of the round that runs
};

// Runs kernel() on every lane and returns when all have returned. Gives up the CPU while nothing moves.
void runGrid(const GridSpec& spec, const std::function<void()>& kernel);

}  // namespace rondo::emu
