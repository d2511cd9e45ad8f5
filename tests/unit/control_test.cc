// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "src/base/socket.h"
#include "tests/unit/child_process.h"
#include "tests/unit/control_members.h"
#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/control_tree.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::ControlTest;
using test::expectNoErrors;
using test::Member;
using test::runRanks;
using test::waitUntil;

TEST(ControlTreeTest, ShapeOfTheTree) {
  EXPECT_EQ(childrenOf(0, 1), std::vector<int>());
  EXPECT_EQ(childrenOf(0, 3), (std::vector<int>{1, 2}));
  EXPECT_EQ(childrenOf(2, 6), std::vector<int>{5});
  EXPECT_TRUE(isInSubtree(11, 2));
  EXPECT_TRUE(isInSubtree(2, 2));
  EXPECT_FALSE(isInSubtree(2, 5));
  EXPECT_FALSE(isInSubtree(7, 2));
}

class ControlRanksTest : public ControlTest, public testing::WithParamInterface<int> {};

TEST_P(ControlRanksTest, OrderlyEndIsNoError) {
  auto members = openAll(GetParam());
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
}

TEST_P(ControlRanksTest, ErrorOfEachRankReachesAllOnce) {
  const int ranks = GetParam();
  for (int origin = 0; origin < ranks; ++origin) {
    auto members = openAll(ranks);
    ControlPlane& plane = *members[static_cast<size_t>(origin)]->plane;
    plane.raise(ncclInvalidUsage, origin, fmt::format("text {}", origin));
    plane.raise(ncclInternalError, origin, "second");
    for (auto& member : members) expectError(*member, ncclInvalidUsage, origin, fmt::format("text {}", origin));
    closeAll(members);
    for (auto& member : members) EXPECT_EQ(member->errorCount(), 1);
  }
}

TEST_P(ControlRanksTest, NoteOfEachRankReachesAllOthersOnce) {
  using Notes = std::vector<std::pair<int, std::string>>;
  const int ranks = GetParam();
  auto members = openAll(ranks);
  for (int origin = 0; origin < ranks; ++origin) {
    const std::string text = fmt::format("note {}", origin);
    members[static_cast<size_t>(origin)]->plane->note({text.begin(), text.end()});
  }
  Notes wanted;
  for (int origin = 0; origin < ranks; ++origin) wanted.emplace_back(origin, fmt::format("note {}", origin));
  for (int rank = 0; rank < ranks; ++rank) {
    Member& member = *members[static_cast<size_t>(rank)];
    const auto sorted = [&] {
      std::lock_guard lock(member.mutex);
      Notes all = member.notes;
      all.emplace_back(wanted[static_cast<size_t>(rank)]);  // its own is not told to itself
      std::sort(all.begin(), all.end());
      return all;
    };
    EXPECT_TRUE(waitUntil([&] { return sorted().size() >= wanted.size(); }));
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(sorted(), wanted) << "rank " << rank;
  }
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
}

TEST_P(ControlRanksTest, AbortIsNamedOnEveryOtherRank) {
  const int ranks = GetParam();
  auto members = openAll(ranks);
  const int aborter = ranks / 2;
  members[static_cast<size_t>(aborter)]->plane.reset();
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != aborter)
      expectError(*members[static_cast<size_t>(rank)], ncclRemoteError, aborter, "aborted the communicator");
  }
  EXPECT_EQ(members[static_cast<size_t>(aborter)]->errorCount(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ControlRanksTest, testing::Values(1, 2, 3, 8, 17));

TEST_F(ControlTest, AllRanksRaiseAtOnce) {
  auto members = openAll(8);
  expectNoErrors(
      runRanks(8, [&](int rank) { members[static_cast<size_t>(rank)]->plane->raise(ncclSystemError, rank, "mine"); }));
  for (auto& member : members) ASSERT_TRUE(waitUntil([&] { return member->errorCount() > 0; }));
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 1);
}

TEST_F(ControlTest, WaitAllLeftWaitsForTheLastRank) {
  auto members = openAll(5);
  for (int rank = 0; rank < 4; ++rank) members[static_cast<size_t>(rank)]->plane->leave();
  EXPECT_FALSE(members[0]->plane->waitAllLeft({}, 200ms));
  EXPECT_FALSE(members[0]->plane->waitAllLeft([] { return true; }, 10s));
  members[4]->plane->leave();
  for (auto& member : members) EXPECT_TRUE(member->plane->waitAllLeft({}, 10s));
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
}

TEST_F(ControlTest, RanksThatLeaveOneAfterAnotherAndCloseAtOnce) {
  for (int round = 0; round < 20; ++round) {
    auto members = openAll(7);
    expectNoErrors(runRanks(7, [&](int rank) {
      Member& member = *members[static_cast<size_t>(rank)];
      std::this_thread::sleep_for(std::chrono::milliseconds((rank * 5 + round) % 7));
      member.plane->leave();
      EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
      member.plane.reset();
    }));
    for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
  }
}

TEST_F(ControlTest, RankThatEndsBeforeTheOthersLeftIsAnError) {
  auto members = openAll(3);
  members[0]->plane->leave();
  ASSERT_FALSE(members[0]->plane->waitAllLeft({}, 50ms));
  members[0]->plane.reset();
  expectError(*members[1], ncclRemoteError, 0, "has ended before rank 2 had left");
  members[1]->plane->leave();
  EXPECT_TRUE(members[1]->plane->waitAllLeft({}, 10s));
}

TEST_F(ControlTest, TicksGoOn) {
  auto members = openAll(2);
  EXPECT_TRUE(waitUntil([&] { return members[0]->ticks > 5 && members[1]->ticks > 5; }));
  closeAll(members);
}

// Ranks 0..n-1, of which those in "own" are threads here and the others a forked process each.
class KilledRankTest : public ControlTest, public testing::WithParamInterface<int> {};

TEST_P(KilledRankTest, DeathIsToldToEveryoneAtOnce) {
  constexpr int kRanks = 7;
  const int victim = GetParam();
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    Member member;
    member.open(id, victim, kRanks);
    std::printf("ready\n");
    std::fflush(stdout);
    ::pause();
  });
  Members members = makeMembers(kRanks);
  expectNoErrors(runRanks(kRanks, [&](int rank) {
    if (rank != victim) members[static_cast<size_t>(rank)]->open(id, rank, kRanks);
  }));
  child.readLine();

  // A stopped process is alive.
  child.kill(SIGSTOP);
  std::this_thread::sleep_for(500ms);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;

  const auto start = Clock::now();
  child.kill(SIGKILL);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    expectError(*members[static_cast<size_t>(rank)], ncclRemoteError, victim,
                fmt::format(":{}) has closed its connection", child.pid()));
  }
  EXPECT_LT(Clock::now() - start, 2s);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    ControlPlane& plane = *members[static_cast<size_t>(rank)]->plane;
    plane.leave();
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    EXPECT_TRUE(members[static_cast<size_t>(rank)]->plane->waitAllLeft({}, 10s)) << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Victims, KilledRankTest, testing::Values(0, 1, 2, 3, 6));

TEST_F(ControlTest, ForkedChildDoesNotDisturb) {
  auto members = openAll(3);
  ChildProcess child([&] {
    members[1]->plane->raise(ncclInternalError, 1, "from the child");
    members[1]->plane->leave();
    EXPECT_TRUE(members[1]->plane->waitAllLeft({}, 1s));
    const int before = test::countDescriptors();
    for (auto& member : members) member->plane.reset();
    EXPECT_EQ(before - test::countDescriptors(), 4);  // both ends of two connections
  });
  EXPECT_EQ(child.wait(), 0) << child.errors();
  std::this_thread::sleep_for(100ms);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
  members[0]->plane->raise(ncclSystemError, 0, "still there");
  for (auto& member : members) expectError(*member, ncclSystemError, 0, "still there");
  closeAll(members);
}

TEST_F(ControlTest, CommunicatorsInAForkedChildWork) {
  auto members = openAll(2);
  ChildProcess child([] {
    auto own = openAll(3);
    closeAll(own);
  });
  EXPECT_EQ(child.wait(), 0) << child.errors();
  closeAll(members);
}

TEST_F(ControlTest, ProcessThatEndsWithoutDestroying) {
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    auto* member = new Member;  // leaked on purpose: the process just ends
    member->open(id, 1, 2);
  });
  Member member;
  member.open(id, 0, 2);
  expectError(member, ncclRemoteError, 1, "has closed its connection");
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(ControlTest, RankThatFailsBetweenBootstrapAndControl) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(4, [&](int rank) {
    if (rank == 2) {
      connectSocketBootstrap(id, rank, 4, {});
      fail(ncclRemoteError, "rank 2 (");
    }
    Member member;
    member.open(id, rank, 4);
  });
  test::expectEveryError(errors, ncclRemoteError, "rank 2 (");
}

TEST_F(ControlTest, ManyCommunicatorsShareOneThread) {
  std::vector<Members> all(10);
  std::vector<std::thread> threads;
  for (auto& members : all) threads.emplace_back([&members] { members = openAll(3); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(test::countThreads("rondo-service"), 1);
  all[4][1]->plane->raise(ncclSystemError, 1, "only here");
  for (auto& member : all[4]) expectError(*member, ncclSystemError, 1, "only here");
  for (auto& members : all) closeAll(members);
  for (size_t i = 0; i < all.size(); ++i)
    for (auto& member : all[i]) EXPECT_EQ(member->errorCount(), i == 4 ? 1 : 0);
}

TEST_F(ControlTest, KilledProcessIsSeenWhileItsChildLives) {
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    Member member;
    member.open(id, 1, 2);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      sleep(30);
      _exit(0);
    }
    std::printf("%d\n", grandchild);
    std::fflush(stdout);
    ::pause();
  });
  Member member;
  member.open(id, 0, 2);
  const pid_t grandchild = std::stoi(child.readLine());
  child.kill(SIGKILL);
  expectError(member, ncclRemoteError, 1, "has closed its connection");
  EXPECT_EQ(kill(grandchild, SIGKILL), 0);
}

// The service thread and every descriptor go with the last communicator.
void checkNothingIsLeftBehind(const std::function<void()>& once) {
  once();
  const auto quiet = [] { return test::countThreads() == 3; };  // ".", ".." and this thread
  ASSERT_TRUE(waitUntil(quiet));
  const int before = test::countDescriptors();
  for (int i = 0; i < 100; ++i) once();
  EXPECT_TRUE(waitUntil([&] { return quiet() && test::countDescriptors() == before; }))
      << test::countThreads() << " threads, " << test::countDescriptors() << " descriptors, before " << before;
}

// In a process of its own: roots of other tests may still be telling their error.
TEST_F(ControlTest, NothingIsLeftBehind) {
  test::runInChild([] {
    checkNothingIsLeftBehind([] {
      auto members = openAll(3);
      closeAll(members);
    });
  });
}

}  // namespace
}  // namespace rondo
