// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Who is blamed for a wait that lasts too long, and when. Pure; tests/faults/hang.py tries it on processes.
#include "src/comm/hang_watch.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = HangWatch::Clock;
using Step = HangWatch::Step;

const Clock::time_point kStart = Clock::time_point{} + std::chrono::hours(1);

// Ticks every 20 ms from 'now' on, until there is something to do or 'end'.
Step tickUntil(HangWatch& watch, uint64_t waits, Clock::time_point& now, Clock::time_point end) {
  for (; now < end; now += milliseconds(20))
    if (const Step step = watch.tick(waits, now); step != Step::kNothing) return step;
  return Step::kNothing;
}

RankStatus movesIn(uint64_t call) { return {call, 0, -1, 0}; }
RankStatus waitsIn(uint64_t call, int peer) { return {call, call, peer, 0}; }

TEST(HangWatch, AsksAtTheLimitAndJudgesWhenAllHaveAnswered) {
  HangWatch watch(0, 3, seconds(5));
  Clock::time_point now = kStart;
  EXPECT_EQ(tickUntil(watch, 7, now, kStart + milliseconds(4900)), Step::kNothing);
  EXPECT_EQ(tickUntil(watch, 7, now, kStart + seconds(7)), Step::kAsk);
  now += milliseconds(20);
  watch.hear(1, movesIn(4), now);
  EXPECT_EQ(watch.tick(7, now), Step::kNothing);
  watch.hear(2, waitsIn(5, 1), now);
  EXPECT_EQ(watch.tick(7, now), Step::kJudge);
  EXPECT_EQ(watch.waited(), seconds(5));
}

TEST(HangWatch, JudgesWithoutTheSilentAfterAWhile) {
  HangWatch watch(0, 3, seconds(5));
  Clock::time_point now = kStart;
  ASSERT_EQ(tickUntil(watch, 7, now, kStart + seconds(7)), Step::kAsk);
  const Clock::time_point asked = now;
  now += milliseconds(20);
  watch.hear(2, waitsIn(5, 1), now);
  EXPECT_EQ(tickUntil(watch, 7, now, kStart + seconds(20)), Step::kJudge);
  EXPECT_GE(now - asked, seconds(3));
  EXPECT_LE(now - asked, seconds(4));
}

TEST(HangWatch, AnyMovementBeginsAnew) {
  HangWatch watch(0, 2, seconds(2));
  Clock::time_point now = kStart;
  for (uint64_t waits = 1; waits < 10; ++waits)
    EXPECT_EQ(tickUntil(watch, waits, now, now + milliseconds(1900)), Step::kNothing);
  EXPECT_EQ(tickUntil(watch, 0, now, now + seconds(60)), Step::kNothing);  // nobody waits
  EXPECT_EQ(tickUntil(watch, 10, now, now + seconds(3)), Step::kAsk);
  EXPECT_EQ(watch.tick(11, now), Step::kNothing);  // it moved after all
  EXPECT_EQ(tickUntil(watch, 11, now, now + milliseconds(1900)), Step::kNothing);
}

TEST(HangWatch, TimeInWhichTheProcessWasStoppedDoesNotCount) {
  HangWatch watch(0, 2, seconds(2));
  Clock::time_point now = kStart;
  ASSERT_EQ(tickUntil(watch, 7, now, kStart + seconds(1)), Step::kNothing);
  now += seconds(1000);
  EXPECT_EQ(watch.tick(7, now), Step::kNothing);
  EXPECT_EQ(tickUntil(watch, 7, now, now + seconds(2)), Step::kAsk);
  EXPECT_LE(watch.waited(), seconds(2));
}

TEST(HangWatch, WithoutALimitItNeverAsks) {
  HangWatch watch(0, 2, seconds(0));
  Clock::time_point now = kStart;
  EXPECT_EQ(tickUntil(watch, 7, now, kStart + seconds(1000)), Step::kNothing);
}

TEST(HangWatch, TellsOnceASecond) {
  HangWatch watch(0, 1000, seconds(0));
  EXPECT_TRUE(watch.shallTell(kStart));
  EXPECT_FALSE(watch.shallTell(kStart + milliseconds(900)));
  EXPECT_TRUE(watch.shallTell(kStart + milliseconds(1100)));
}

TEST(HangWatch, TheRankWithFewestCallsIsBehind) {
  HangWatch watch(0, 4, seconds(1));
  watch.hear(1, movesIn(3), kStart);
  watch.hear(2, movesIn(4), kStart);
  watch.hear(3, waitsIn(5, 2), kStart);
  const Blame blame = watch.judge(waitsIn(5, 3), kStart);
  EXPECT_EQ(blame.rank, 1);
  EXPECT_EQ(blame.reason, Blame::Reason::kNotCalled);
  EXPECT_EQ(blame.called, 3u);
}

// All have made the call; rank 1's kernel has not begun, as its stream has other work.
TEST(HangWatch, WaitsAreFollowedToTheRankThatDoesNotWait) {
  HangWatch watch(0, 4, seconds(1));
  watch.hear(1, movesIn(6), kStart);
  watch.hear(2, waitsIn(5, 1), kStart);
  watch.hear(3, waitsIn(5, 2), kStart);
  const Blame blame = watch.judge(waitsIn(5, 3), kStart);
  EXPECT_EQ(blame.rank, 1);
  EXPECT_EQ(blame.reason, Blame::Reason::kNotMoving);
}

TEST(HangWatch, WaitsThatGoRoundEnd) {
  HangWatch watch(0, 4, seconds(1));
  watch.hear(1, waitsIn(5, 2), kStart);
  watch.hear(2, waitsIn(5, 1), kStart);
  watch.hear(3, waitsIn(5, 2), kStart);
  const Blame blame = watch.judge(waitsIn(5, 3), kStart);
  EXPECT_EQ(blame.rank, 3);
  EXPECT_EQ(blame.reason, Blame::Reason::kCircle);
}

// What a stopped rank's part of the tree says does not come by it: nobody behind it is to blame. The tree of 8 ranks: 0
// has 1 and 2, 1 has 3 and 4, 2 has 5 and 6, 3 has 7.
TEST(HangWatch, TheNearestSilentRankIsToBlameOnEitherSideOfIt) {
  HangWatch above(0, 8, seconds(1));
  for (const int rank : {2, 5, 6}) above.hear(rank, waitsIn(5, rank - 1), kStart);
  EXPECT_EQ(above.judge(waitsIn(5, 7), kStart).rank, 1);
  HangWatch below(7, 8, seconds(1));
  below.hear(3, waitsIn(5, 2), kStart);
  const Blame blame = below.judge(waitsIn(5, 6), kStart);
  EXPECT_EQ(blame.rank, 1);
  EXPECT_EQ(blame.reason, Blame::Reason::kSilent);
}

TEST(HangWatch, WhatWasToldLongAgoDoesNotCount) {
  HangWatch watch(0, 2, seconds(1));
  watch.hear(1, movesIn(5), kStart);
  EXPECT_EQ(watch.judge(waitsIn(5, 1), kStart + seconds(5)).reason, Blame::Reason::kNotMoving);
  EXPECT_EQ(watch.judge(waitsIn(5, 1), kStart + seconds(10)).reason, Blame::Reason::kSilent);
}

}  // namespace
}  // namespace rondo
