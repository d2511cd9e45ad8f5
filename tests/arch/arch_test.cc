// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Every operation of the seam against its contract (device/arch/arch.h), on whatever device this is built for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "src/base/error.h"
#include "tests/arch/arch_kernels.h"

namespace rondo::archtest {
namespace {

uint64_t allLanes(unsigned waveSize) { return waveSize == 64 ? ~uint64_t{0} : (uint64_t{1} << waveSize) - 1; }

// Calls check(block, thread, lane) for every thread of the grid.
template <class Check>
void forEachThread(const Outcome& outcome, unsigned blocks, Check check) {
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < outcome.threads; ++thread) check(block, thread, thread % outcome.waveSize);
  }
}

TEST(Seam, Identity) {
  const Outcome outcome = run(Probe::kIdentity, {3, 4});
  EXPECT_TRUE(outcome.waveSize == 32 || outcome.waveSize == 64) << outcome.waveSize;
  forEachThread(outcome, 3, [&](unsigned block, unsigned thread, unsigned lane) {
    const uint64_t expected[kColumns] = {block,  3,         outcome.threads, outcome.waveSize, thread / outcome.waveSize,
                                         4,      lane,      lane == 0 ? 1u : 0u};
    for (unsigned column = 0; column < kColumns; ++column) {
      EXPECT_EQ(outcome.at(block, thread, column), expected[column]) << "thread " << thread << " column " << column;
    }
  });
}

TEST(Seam, WaveSizeIsTheOneAskedFor) {
  const char* asked = std::getenv("RONDO_EMU_WAVE");
  const Outcome outcome = run(Probe::kIdentity, {1, 1});
  if (isEmulated() && asked != nullptr) {
    EXPECT_EQ(std::to_string(outcome.waveSize), asked);
  }
  EXPECT_EQ(outcome.at(0, 0, 3), outcome.waveSize) << "the kernel and the runtime disagree";
}

TEST(Seam, Ballot) {
  const Outcome outcome = run(Probe::kBallot, {1, 2});
  uint64_t thirds = 0;
  for (unsigned lane = 0; lane < outcome.waveSize; lane += 3) thirds |= uint64_t{1} << lane;
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), thirds);
    EXPECT_EQ(outcome.at(block, thread, 1), allLanes(outcome.waveSize));
    EXPECT_EQ(outcome.at(block, thread, 2), 0u);
    EXPECT_EQ(outcome.at(block, thread, 3), uint64_t{1} << (outcome.waveSize - 1));
  });
}

TEST(Seam, Shuffle) {
  const Outcome outcome = run(Probe::kShuffle, {1, 2});
  const uint64_t last = outcome.waveSize - 1;
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), 1u);
    EXPECT_EQ(outcome.at(block, thread, 1), last * 3 + 1);
    EXPECT_EQ(outcome.at(block, thread, 2), (last << 40) + last + 5);
    EXPECT_EQ(static_cast<int64_t>(outcome.at(block, thread, 3)), -8);
    EXPECT_EQ(static_cast<int64_t>(outcome.at(block, thread, 4)), -8);
  });
}

TEST(Seam, WaveMin) {
  const Outcome outcome = run(Probe::kWaveMin, {1, 2});
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), 1001 - outcome.waveSize);
    EXPECT_EQ(outcome.at(block, thread, 1), 17u);
    EXPECT_EQ(outcome.at(block, thread, 2), 0xffffffffu);
    EXPECT_EQ(outcome.at(block, thread, 3), 0x80000000u);
  });
}

TEST(Seam, Reconverge) {
  const Outcome outcome = run(Probe::kReconverge, {1, 1});
  uint64_t added = 0;
  for (unsigned lane = 0; lane < outcome.waveSize; lane += 3) added += lane + 1;
  EXPECT_EQ(outcome.common[0], added);
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), allLanes(outcome.waveSize));
  });
}

TEST(Seam, SyncBlock) {
  const Outcome outcome = run(Probe::kSyncBlock, {2, 4});
  forEachThread(outcome, 2, [&](unsigned block, unsigned thread, unsigned) {
    const unsigned other = (thread + outcome.waveSize + 1) % outcome.threads;
    for (unsigned round = 0; round < 5; ++round) EXPECT_EQ(outcome.at(block, thread, round), other * 10 + round);
  });
}

TEST(Seam, SyncWave) {
  const Outcome outcome = run(Probe::kSyncWave, {2, 4});
  forEachThread(outcome, 2, [&](unsigned block, unsigned thread, unsigned lane) {
    for (unsigned round = 0; round < 5; ++round) {
      const unsigned other = thread - lane + (lane + 1 + round) % outcome.waveSize;
      EXPECT_EQ(outcome.at(block, thread, round), other * 10 + round);
    }
  });
}

class Words : public testing::TestWithParam<Probe> {};

TEST_P(Words, LoadStoreAndAdd) {
  const Outcome outcome = run(GetParam(), {1, 4});
  std::set<uint64_t> olds;
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    const uint64_t big = 0x123456789abcdef0u;
    olds.insert(outcome.at(block, thread, 0));
    EXPECT_EQ(outcome.at(block, thread, 1), big + thread);
    EXPECT_EQ(outcome.at(block, thread, 2), big - thread);
    EXPECT_EQ(outcome.at(block, thread, 3), big - thread);
    EXPECT_EQ(outcome.at(block, thread, 4), big - thread - 1);
  });
  EXPECT_EQ(olds.size(), outcome.threads);
  EXPECT_EQ(*olds.begin(), 0u);
  EXPECT_EQ(*olds.rbegin(), outcome.threads - 1);
}

INSTANTIATE_TEST_SUITE_P(Scopes, Words,
                         testing::Values(Probe::kBlockWords, Probe::kDeviceWords, Probe::kSystemWords));

struct MessageCase {
  Probe probe;
  unsigned blocks;
};
class Messages : public testing::TestWithParam<MessageCase> {};

TEST_P(Messages, DrainedStoresAreCoveredByAnotherWavesRelease) {
  const Outcome outcome = run(GetParam().probe, {GetParam().blocks, 3}, 200);
  unsigned readers = 0;
  forEachThread(outcome, GetParam().blocks, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), 0u) << "block " << block << " thread " << thread;
    readers += static_cast<unsigned>(outcome.at(block, thread, 1));
  });
  EXPECT_EQ(readers, outcome.waveSize);
  EXPECT_EQ(outcome.common[0], 200u);
  EXPECT_EQ(outcome.common[1], 200u);
}

INSTANTIATE_TEST_SUITE_P(Scopes, Messages,
                         testing::Values(MessageCase{Probe::kMessageBlock, 1}, MessageCase{Probe::kMessageDevice, 1},
                                         MessageCase{Probe::kMessageDevice, 2},
                                         MessageCase{Probe::kMessageSystem, 2}));

TEST(Seam, TileCoversEveryIndexOnce) {
  for (bool workers : {false, true}) {
    for (uint64_t count : {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 1000, 2000}) {
      const Outcome outcome = run(Probe::kTile, {1, 1, workers}, count);
      for (uint64_t i = 0; i < kCommonWords; ++i) {
        ASSERT_EQ(outcome.common[i], i < count ? 1u : 0u) << "index " << i << " of " << count;
      }
    }
  }
}

TEST(Seam, RangesAreTheBytesAskedFor) {
  for (bool workers : {false, true}) {
    const Outcome outcome = run(Probe::kRanges, {1, 1, workers}, 7000);
    const char* bytes = reinterpret_cast<const char*>(outcome.common.data());
    EXPECT_EQ(bytes[0], 0);
    for (size_t i = 0; i < 7000; ++i) ASSERT_EQ(bytes[1 + i], static_cast<char>(8001 + i + 5)) << i;
    EXPECT_EQ(bytes[7001], 0);
  }
}

TEST(Seam, BlockSharedIsOnePerBlockAndAligned) {
  const Outcome outcome = run(Probe::kBlockShared, {4, 2});
  forEachThread(outcome, 4, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), 100 + block);
    EXPECT_EQ(outcome.at(block, thread, 1), 0u);
  });
}

TEST(Seam, PairsKeepBothHalves) {
  const Outcome outcome = run(Probe::kPairs, {1, 2});
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    EXPECT_EQ(outcome.at(block, thread, 0), thread + 1u);
    EXPECT_EQ(outcome.at(block, thread, 1), ~uint64_t{thread});
    EXPECT_EQ(outcome.common[2 * thread], thread + 1u);
  });
}

TEST(Seam, LinesAreStoredBySublane) {
  const Outcome outcome = run(Probe::kLines, {1, 2});
  forEachThread(outcome, 1, [&](unsigned block, unsigned thread, unsigned) {
    const unsigned other = thread / 8 * 8 + (thread + 3) % 8;
    EXPECT_EQ(outcome.at(block, thread, 0), other);
    EXPECT_EQ(outcome.at(block, thread, 1), 7000u + other);
    EXPECT_EQ(outcome.common[2 * thread + 1], 7000u + thread);
  });
}

TEST(Seam, ClockRunsInNanoseconds) {
  constexpr uint64_t kAsked_ns = 100'000'000;
  run(Probe::kIdentity, {1, 1});  // the first launch may take long
  const Outcome outcome = run(Probe::kClock, {1, 1, true}, kAsked_ns);
  EXPECT_EQ(outcome.at(0, 0, 1), 0u) << "ran backward";
  EXPECT_GT(outcome.at(0, 0, 2), 10u) << "too coarse";
  EXPECT_GE(outcome.hostElapsed_ns, kAsked_ns * 9 / 10) << "runs too fast";
  EXPECT_LE(outcome.hostElapsed_ns, kAsked_ns * 20) << "runs too slow";
}

// Last: a GPU whose kernel trapped is of no more use to the process.
TEST(SeamDeathTest, TrapEndsTheKernelWithAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        try {
          run(Probe::kTrap, {1, 1});
        } catch (const Error& error) {
          std::fprintf(stderr, "trap: %s\n", error.what());
          std::abort();
        }
      },
      "trap");
}

}  // namespace
}  // namespace rondo::archtest
