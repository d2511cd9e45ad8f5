// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exchanges of a control plane.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/unit/child_process.h"
#include "tests/unit/control_members.h"
#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/control_bootstrap.h"
#include "transport/bootstrap/tree_gather.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::ControlTest;
using test::expectEveryError;
using test::expectNoErrors;
using test::Member;
using test::runRanks;

// One exchange of 'count' numbers that depend on rank and round, every entry checked.
void exchange(Bootstrap& bootstrap, size_t count, uint32_t round) {
  const auto value = [round](int rank, size_t i) { return static_cast<uint32_t>(rank * 1000003 + round * 7919 + i); };
  std::vector<uint32_t> all(count * static_cast<size_t>(bootstrap.size()), 0);
  for (size_t i = 0; i < count; ++i)
    all[static_cast<size_t>(bootstrap.rank()) * count + i] = value(bootstrap.rank(), i);
  bootstrap.allGather(all.data(), count * sizeof(uint32_t));
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(all[static_cast<size_t>(rank) * count + i], value(rank, i));
}

TEST(TreeGatherTest, SubtreesPartitionTheRanks) {
  for (int ranks = 1; ranks < 70; ++ranks) {
    for (int root = 0; root < ranks; ++root) {
      std::vector<int> expected;
      for (int rank = 0; rank < ranks; ++rank)
        if (isInSubtree(rank, root)) expected.push_back(rank);
      ASSERT_EQ(subtreeOf(root, ranks), expected) << root << " of " << ranks;
    }
  }
}

std::vector<char> part(uint64_t round, uint64_t bytesPerRank, size_t bytes) {
  const GatherHead head{round, bytesPerRank};
  std::vector<char> payload(sizeof(head) + bytes);
  std::memcpy(payload.data(), &head, sizeof(head));
  return payload;
}

TEST(TreeGatherTest, RefusesWhatIsOutOfTurnOrCutShort) {
  TreeGather gather(1, 5);  // children 3 and 4
  EXPECT_THROW(gather.add(2, part(0, 4, 4)), Error);
  EXPECT_THROW(gather.add(3, part(1, 4, 4)), Error);
  EXPECT_THROW(gather.add(3, part(0, 4, 3)), Error);
  EXPECT_THROW(gather.add(3, part(0, 4, 8)), Error);
  EXPECT_THROW(gather.add(3, std::vector<char>(7)), Error);
  gather.add(3, part(0, 4, 4));
  EXPECT_THROW(gather.add(3, part(0, 4, 4)), Error);
  EXPECT_THROW(gather.finish(part(0, 4, 20)), Error) << "not complete";
  gather.add(4, part(0, 4, 4));
  EXPECT_FALSE(gather.complete());
  gather.add(1, part(0, 4, 4));
  ASSERT_TRUE(gather.complete());
  EXPECT_THROW(gather.finish(part(0, 4, 16)), Error);
  EXPECT_THROW(gather.finish(part(0, 5, 25)), Error);
  gather.finish(part(0, 4, 20));
  EXPECT_EQ(gather.round(), 1u);
  EXPECT_FALSE(gather.complete());
}

class ControlGatherRanksTest : public ControlTest, public testing::WithParamInterface<int> {};

TEST_P(ControlGatherRanksTest, SeveralExchanges) {
  const int ranks = GetParam();
  auto members = openAll(ranks);
  expectNoErrors(runRanks(ranks, [&](int rank) {
    ControlBootstrap bootstrap(*members[static_cast<size_t>(rank)]->plane, {});
    EXPECT_EQ(bootstrap.rank(), rank);
    EXPECT_EQ(bootstrap.size(), ranks);
    uint32_t round = 0;
    for (const size_t count : {size_t{1}, size_t{0}, size_t{3}, size_t{20000}, size_t{5}})
      exchange(bootstrap, count, round++);
    for (; round < 200; ++round) exchange(bootstrap, 1 + round % 3, round);
  }));
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
}

TEST_P(ControlGatherRanksTest, EveryRankInTurnIsLate) {
  const int ranks = GetParam();
  auto members = openAll(ranks);
  expectNoErrors(runRanks(ranks, [&](int rank) {
    ControlBootstrap bootstrap(*members[static_cast<size_t>(rank)]->plane, {});
    for (int late = 0; late < ranks; ++late) {
      if (rank == late) std::this_thread::sleep_for(30ms);
      exchange(bootstrap, 4, static_cast<uint32_t>(late));
    }
  }));
  closeAll(members);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ControlGatherRanksTest, testing::Values(1, 2, 3, 4, 8, 17));

class ControlGatherTest : public ControlTest {
 protected:
  static void join(Members& members, int rank, uint32_t round) {
    ControlBootstrap bootstrap(*members[static_cast<size_t>(rank)]->plane, {});
    exchange(bootstrap, 4, round);
  }
};

TEST_F(ControlGatherTest, LateRankIsWaitedForInEveryExchange) {
  auto members = openAll(7);
  expectNoErrors(runRanks(7, [&](int rank) {
    for (uint32_t round = 0; round < 4; ++round) {
      if (rank == 1) std::this_thread::sleep_for(400ms);
      join(members, rank, round);
    }
  }));
  closeAll(members);
}

TEST_F(ControlGatherTest, SizesThatDifferAreEverybodysError) {
  for (int odd = 0; odd < 7; ++odd) {
    auto members = openAll(7);
    const auto errors = runRanks(7, [&](int rank) {
      char all[7 * 8] = {};
      members[static_cast<size_t>(rank)]->plane->allGather(all, rank == odd ? 8 : 4);
    });
    expectEveryError(errors, ncclInvalidUsage, fmt::format("rank {} gives 8", odd));
    for (auto& member : members) ASSERT_TRUE(test::waitUntil([&] { return member->errorCount() == 1; }));
    closeAll(members);
  }
}

TEST_F(ControlGatherTest, ErrorOfALateRankEndsTheExchange) {
  auto members = openAll(5);
  const auto errors = runRanks(5, [&](int rank) {
    if (rank == 3) {
      std::this_thread::sleep_for(100ms);
      members[3]->plane->raise(ncclSystemError, 3, "rank 3 has no memory");
    }
    join(members, rank, 0);
  });
  expectEveryError(errors, ncclSystemError, "rank 3 has no memory");
  for (const auto& error : errors) EXPECT_EQ(error->peer(), 3);
  // The error stays: a later exchange ends with it at once.
  expectEveryError(runRanks(5, [&](int rank) { join(members, rank, 1); }), ncclSystemError, "rank 3 has no memory");
  closeAll(members);
}

TEST_F(ControlGatherTest, AbortEndsTheWaitOfOneRankAndItsEndThatOfTheOthers) {
  auto members = openAll(3);
  std::atomic<bool> aborted{false};
  const auto errors = runRanks(3, [&](int rank) {
    if (rank == 2) {
      std::this_thread::sleep_for(200ms);
      aborted = true;
      return;
    }
    Member& member = *members[static_cast<size_t>(rank)];
    const AbortPredicate predicate = rank == 1 ? AbortPredicate([&] { return aborted.load(); }) : AbortPredicate();
    char all[3] = {};
    try {
      member.plane->allGather(all, 1, predicate);
    } catch (const Error&) {
      if (rank != 1) throw;
      EXPECT_THROW(member.plane->allGather(all, 1, predicate), Error) << "out of step with the others";
      member.plane.reset();
      throw;
    }
  });
  ASSERT_TRUE(errors[0] && errors[1]);
  EXPECT_EQ(errors[1]->code(), ncclInvalidUsage) << errors[1]->text();
  EXPECT_EQ(errors[0]->code(), ncclRemoteError) << errors[0]->text();
  EXPECT_NE(errors[0]->text().find("rank 1 ("), std::string::npos) << errors[0]->text();
}

TEST_F(ControlGatherTest, RankThatIsLateIsNamedWhereThereIsATimeout) {
  std::vector<std::thread> threads;
  for (int late = 0; late < 7; ++late) {
    threads.emplace_back([late] {
      auto members = openAll(7);
      const auto errors = runRanks(7, [&](int rank) {
        ControlBootstrap bootstrap(*members[static_cast<size_t>(rank)]->plane, {}, 1s);
        exchange(bootstrap, 4, 0);
        if (rank != late) exchange(bootstrap, 4, 1);
      });
      for (int rank = 0; rank < 7; ++rank) {
        if (rank == late) continue;
        const auto& error = errors[static_cast<size_t>(rank)];
        ASSERT_TRUE(error) << rank;
        EXPECT_EQ(error->code(), ncclRemoteError);
        EXPECT_EQ(error->peer(), late) << error->text();
        EXPECT_NE(error->text().find(fmt::format("rank {} (", late)), std::string::npos) << error->text();
        EXPECT_NE(error->text().find("did not take part in exchange 2 within 1 s"), std::string::npos) << error->text();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ControlGatherTest, RankThatHasLeftIsNamed) {
  auto members = openAll(5);
  const auto errors = runRanks(5, [&](int rank) {
    if (rank == 4) {
      std::this_thread::sleep_for(100ms);
      members[4]->plane->leave();
      fail(ncclRemoteError, "rank 4 (");
    }
    join(members, rank, 0);
  });
  expectEveryError(errors, ncclRemoteError, "rank 4 (");
  closeAll(members);
  for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
}

// Leaving right after an exchange takes nothing from those that still read its result.
TEST_F(ControlGatherTest, LeavingAfterTheLastExchangeIsNoError) {
  for (int round = 0; round < 50; ++round) {
    auto members = openAll(6);
    expectNoErrors(runRanks(6, [&](int rank) {
      Member& member = *members[static_cast<size_t>(rank)];
      join(members, rank, 0);
      member.plane->leave();
      EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
      member.plane.reset();
    }));
    for (auto& member : members) EXPECT_EQ(member->errorCount(), 0) << member->text;
  }
}

TEST_F(ControlGatherTest, ThreadsOfOneRankTakeTurns) {
  auto members = openAll(3);
  expectNoErrors(runRanks(3, [&](int rank) {
    expectNoErrors(runRanks(4, [&](int) {
      for (int i = 0; i < 20; ++i) {
        std::vector<int> all(3, -1);
        all[static_cast<size_t>(rank)] = rank;
        members[static_cast<size_t>(rank)]->plane->allGather(all.data(), sizeof(int));
        EXPECT_EQ(all, (std::vector<int>{0, 1, 2}));
      }
    }));
  }));
  closeAll(members);
}

TEST_F(ControlGatherTest, ForkedChildIsRefused) {
  auto members = openAll(2);
  ChildProcess child([&] {
    char all[2] = {};
    EXPECT_THROW(members[0]->plane->allGather(all, 1), Error);
  });
  EXPECT_EQ(child.wait(), 0) << child.errors();
  expectNoErrors(runRanks(2, [&](int rank) { join(members, rank, 0); }));
  closeAll(members);
}

// Of 7 ranks one is a process of its own, stopped or killed while the others wait in an exchange.
class ControlGatherProcessTest : public ControlTest, public testing::WithParamInterface<int> {};

TEST_P(ControlGatherProcessTest, StoppedIsWaitedForAndKilledIsNamed) {
  constexpr int kRanks = 7;
  const int victim = GetParam();
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    Member member;
    member.open(id, victim, kRanks);
    std::printf("ready\n");
    std::fflush(stdout);
    ControlBootstrap bootstrap(*member.plane, {});
    exchange(bootstrap, 4, 0);
    ::pause();
  });
  Members members = makeMembers(kRanks);
  std::thread watcher([&] {
    child.readLine();
    child.kill(SIGSTOP);
    std::this_thread::sleep_for(1s);
    child.kill(SIGCONT);
    std::this_thread::sleep_for(500ms);  // all are in the second exchange, but for this one
    child.kill(SIGKILL);
  });
  const auto errors = runRanks(kRanks, [&](int rank) {
    if (rank == victim) return;
    Member& member = *members[static_cast<size_t>(rank)];
    member.open(id, rank, kRanks);
    ControlBootstrap bootstrap(*member.plane, {});
    exchange(bootstrap, 4, 0);
    exchange(bootstrap, 4, 1);
  });
  watcher.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    const auto& error = errors[static_cast<size_t>(rank)];
    ASSERT_TRUE(error) << rank;
    EXPECT_EQ(error->code(), ncclRemoteError);
    EXPECT_EQ(error->peer(), victim);
    EXPECT_NE(error->text().find(fmt::format("rank {} (", victim)), std::string::npos) << error->text();
    EXPECT_NE(error->text().find(fmt::format(":{}) has closed its connection", child.pid())), std::string::npos)
        << error->text();
  }
}

INSTANTIATE_TEST_SUITE_P(Victims, ControlGatherProcessTest, testing::Values(0, 1, 2, 3, 6));

}  // namespace
}  // namespace rondo
