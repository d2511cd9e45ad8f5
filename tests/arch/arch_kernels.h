// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One kernel for each operation of the seam, and what runs them: every lane writes what it saw into its row of words,
// and the test looks at the rows on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::archtest {

enum class Probe : uint32_t {
  kIdentity,
  kBallot,
  kShuffle,
  kWaveMin,
  kReconverge,
  kSyncBlock,
  kSyncWave,
  kBlockWords,
  kDeviceWords,
  kSystemWords,
  kMessageBlock,
  kMessageDevice,
  kMessageSystem,
  kTile,
  kRanges,
  kBlockShared,
  kPairs,
  kLines,
  kClock,
  kTrap
};

constexpr unsigned kColumns = 8;

struct Shape {
  unsigned blocks = 1;
  unsigned waves = 1;
  bool workers = false;  // worker waves: lane-uniform code
};

// Words that all lanes share, after the rows.
constexpr unsigned kCommonWords = 2048;

struct Outcome {
  unsigned waveSize;
  unsigned threads;                // per block
  std::vector<uint64_t> rows;      // kColumns words for each thread of the grid
  std::vector<uint64_t> common;    // kCommonWords
  uint64_t hostElapsed_ns;

  uint64_t at(unsigned block, unsigned thread, unsigned column) const {
    return rows[(static_cast<size_t>(block) * threads + thread) * kColumns + column];
  }
};

// argument is the probe's: a count, a time.
Outcome run(Probe probe, const Shape& shape, uint64_t argument = 0);

bool isEmulated();

}  // namespace rondo::archtest
