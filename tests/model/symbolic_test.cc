// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The ring algorithms on the symbolic channel: exactly the right contributions everywhere, and no circular wait.
#include "tests/model/symbolic_ring.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/collectives/all_reduce.h"
#include "device/collectives/broadcast.h"

namespace rondo::symbolic {
namespace {

struct Case {
  uint32_t ranks;
  uint32_t depth;
  uint64_t bytes;
  uint64_t stepBytes;
  uint64_t leadBytes;
  uint32_t stepsPerChunk;
  uint32_t channels;
};

std::string name(const Case& c) {
  return fmt::format("ranks {} depth {} bytes {} step {} chunk {} channels {}", c.ranks, c.depth, c.bytes, c.stepBytes,
                     c.stepsPerChunk, c.channels);
}

template <class Algorithm>
Outcome run(const Case& c, uint32_t channel, bool split, Algorithm algorithm) {
  std::vector<std::vector<Step>> programs;
  for (uint32_t index = 0; index < c.ranks; ++index) {
    Recorder recorder;
    algorithm(recorder, RingArgs{index, c.ranks, channelRange(c.bytes, c.channels, channel), c.stepBytes,
                                 c.leadBytes, c.stepsPerChunk, split});
    programs.push_back(std::move(recorder.steps));
  }
  return play(programs, c.bytes, c.depth);
}

// Every granule of the channel's range carries exactly 'wanted' on every rank.
void expectContributions(const Outcome& outcome, const Case& c, uint32_t channel, uint32_t firstRank, const Contributors& wanted) {
  ASSERT_EQ(outcome.fault, "") << name(c);
  const Piece range = channelRange(c.bytes, c.channels, channel);
  for (uint32_t rank = firstRank; rank < c.ranks; ++rank) {
    for (uint64_t at = range.offset; at < range.offset + range.bytes; at += kGranuleBytes)
      ASSERT_EQ(outcome.outputs[rank][at / kGranuleBytes], wanted) << name(c) << " rank " << rank << " byte " << at;
  }
}

void checkBroadcast(const Case& c) {
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Outcome outcome = run(c, channel, false, [](Recorder& r, const RingArgs& args) { broadcastRing(r, args); });
    expectContributions(outcome, c, channel, 0, Contributors(1));
  }
}

void checkAllReduce(const Case& c) {
  Contributors everybody;
  for (uint32_t rank = 0; rank < c.ranks; ++rank) everybody.set(rank);
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Outcome outcome = run(c, channel, mustSplit(c.depth, c.stepsPerChunk),
                                [](Recorder& r, const RingArgs& args) { allReduceRing(r, args); });
    expectContributions(outcome, c, channel, 0, everybody);
  }
}

// Depth with the planner's steps per chunk, and odd sizes around steps, chunks and rounds.
std::vector<Case> cases(uint32_t ranks) {
  std::vector<Case> all;
  for (uint32_t depth : {1u, 2u, 4u, 8u, 64u}) {
    const uint32_t chunk = depth / 2 > 1 ? depth / 2 : 1;
    for (uint64_t bytes : {uint64_t{1}, uint64_t{127}, uint64_t{129}, uint64_t{256} * ranks * chunk,
                           uint64_t{256} * ranks * chunk + 1, uint64_t{256} * (2 * ranks * chunk + 3) + 77}) {
      for (uint32_t channels : {1u, 3u, 8u}) all.push_back({ranks, depth, bytes, 256, 128, chunk, channels});
    }
  }
  return all;
}

class Symbolic : public testing::TestWithParam<uint32_t> {};

TEST_P(Symbolic, BroadcastDeliversTheRootsBytesEverywhere) {
  for (const Case& c : cases(GetParam())) checkBroadcast(c);
}

TEST_P(Symbolic, AllReduceCountsEveryRankOnce) {
  for (const Case& c : cases(GetParam())) checkAllReduce(c);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Symbolic, testing::Values(2, 3, 4, 5, 8, 16, 31, 64, 128));

// The checker sees what it must see: without the split, a chunk that fills the FIFO is a circular wait (F5).
TEST(SymbolicChecker, FindsTheCircularWaitOfAFusedStepAtDepthOne) {
  const Case c{3, 1, 256 * 9, 256, 128, 1, 1};
  const auto algorithm = [](Recorder& r, const RingArgs& args) { allReduceRing(r, args); };
  EXPECT_NE(run(c, 0, false, algorithm).fault, "");
  EXPECT_EQ(run(c, 0, true, algorithm).fault, "");
}

TEST(SymbolicChecker, FindsTheCircularWaitOfAChunkAsLongAsTheFifo) {
  const Case c{4, 4, 256 * 4 * 4, 256, 128, 4, 1};
  EXPECT_NE(run(c, 0, false, [](Recorder& r, const RingArgs& args) { allReduceRing(r, args); }).fault, "");
}

TEST(SymbolicChecker, FindsAMissingContribution) {
  const Case c{3, 4, 256 * 3, 256, 128, 1, 1};
  const Outcome outcome = run(c, 0, false, [](Recorder& r, RingArgs args) {
    if (args.index == 1) args.ranks = 2;  // this rank believes in a smaller ring
    allReduceRing(r, args);
  });
  EXPECT_NE(outcome.fault, "");
}

}  // namespace
}  // namespace rondo::symbolic
