// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How the ranks of a control plane meet, with one that fails between the exchange of addresses and the connections.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "src/base/socket.h"
#include "tests/unit/child_process.h"
#include "tests/unit/control_members.h"
#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/wire.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::ControlTest;
using test::expectNoErrors;
using test::Member;
using test::runRanks;

constexpr int kRanks = 7;

// Calls something right after each exchange, and counts them.
class EventfulBootstrap : public Bootstrap {
 public:
  EventfulBootstrap(std::unique_ptr<Bootstrap> inner, std::function<void()> event)
      : inner_(std::move(inner)), event_(std::move(event)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void allGather(void* all, size_t bytesPerRank) override {
    inner_->allGather(all, bytesPerRank);
    ++exchanges_;
    event_();
  }
  int exchanges() const { return exchanges_; }

 private:
  std::unique_ptr<Bootstrap> inner_;
  std::function<void()> event_;
  int exchanges_ = 0;
};

// A rank whose listener is crowded: when the ranks know each other's addresses, it drops the first callers.
class CrowdedBootstrap : public Bootstrap {
 public:
  CrowdedBootstrap(std::unique_ptr<Bootstrap> inner, int callers) : inner_(std::move(inner)), callers_(callers) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void allGather(void* all, size_t bytesPerRank) override {
    const char* own = static_cast<char*>(all) + static_cast<size_t>(rank()) * bytesPerRank;
    const int listener = findListener(own + sizeof(wire::Hello));  // its address follows
    ASSERT_GE(listener, 0);
    inner_->allGather(all, bytesPerRank);
    for (; dropped_ < callers_; ++dropped_) {
      pollfd entry{listener, POLLIN, 0};
      if (poll(&entry, 1, 500) != 1) return;
      close(accept(listener, nullptr, nullptr));
    }
  }
  int dropped() const { return dropped_; }

 private:
  static int findListener(const std::string& address) {
    for (int fd = 0; fd < 1024; ++fd) {
      int listens = 0;
      socklen_t bytes = sizeof(listens);
      if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0 &&
          SocketAddress::ofSocket(fd).text() == address)
        return fd;
    }
    return -1;
  }

  std::unique_ptr<Bootstrap> inner_;
  const int callers_;
  int dropped_ = 0;
};

class MeetingTest : public ControlTest {
 protected:
  // The victim in a process of its own, where 'event' happens after the exchange of addresses.
  static std::unique_ptr<ChildProcess> startVictim(const ncclUniqueId& id, int victim,
                                                   const std::function<void()>& event) {
    return std::make_unique<ChildProcess>([&] {
      EventfulBootstrap bootstrap(connectSocketBootstrap(id, victim, kRanks, {}), event);
      Member member;
      member.open(bootstrap);
      member.plane->leave();
      EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
      EXPECT_EQ(member.errors, 0) << member.text;
    });
  }

  static void expectNamed(const test::Errors& errors, int victim) {
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == victim) continue;
      const auto& error = errors[static_cast<size_t>(rank)];
      ASSERT_TRUE(error) << rank;
      EXPECT_EQ(error->code(), ncclRemoteError);
      EXPECT_EQ(error->peer(), victim) << error->text();
      EXPECT_NE(error->text().find(fmt::format("rank {} (", victim)), std::string::npos) << error->text();
    }
  }
};

class ControlMeetingTest : public MeetingTest, public testing::WithParamInterface<int> {};

TEST_P(ControlMeetingTest, BootstrapIsUsedOnce) {
  const ncclUniqueId id = createUniqueId();
  expectNoErrors(runRanks(kRanks, [&](int rank) {
    EventfulBootstrap bootstrap(connectSocketBootstrap(id, rank, kRanks, {}), [] {});
    Member member;
    member.open(bootstrap);
    EXPECT_EQ(bootstrap.exchanges(), 1);
    member.plane->leave();
    EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
  }));
}

TEST_P(ControlMeetingTest, RankKilledBeforeItConnects) {
  const int victim = GetParam();
  const ncclUniqueId id = createUniqueId();
  const auto child = startVictim(id, victim, [] { raise(SIGKILL); });
  Members members = makeMembers(kRanks);
  const auto start = Clock::now();
  const auto errors = runRanks(kRanks, [&](int rank) {
    if (rank != victim) members[static_cast<size_t>(rank)]->open(id, rank, kRanks);
  });
  expectNamed(errors, victim);
  EXPECT_LT(Clock::now() - start, 8s);
}

TEST_P(ControlMeetingTest, RankStoppedBeforeItConnectsIsWaitedForAndThenKilled) {
  const int victim = GetParam();
  for (const bool killed : {false, true}) {
    const ncclUniqueId id = createUniqueId();
    const auto child = startVictim(id, victim, [] {
      std::printf("here\n");
      std::fflush(stdout);
      raise(SIGSTOP);
    });
    std::thread watcher([&] {
      child->readLine();
      std::this_thread::sleep_for(1s);
      child->kill(killed ? SIGKILL : SIGCONT);
    });
    Members members = makeMembers(kRanks);
    const auto errors = runRanks(kRanks, [&](int rank) {
      if (rank == victim) return;
      Member& member = *members[static_cast<size_t>(rank)];
      member.open(id, rank, kRanks);
      member.plane->leave();
      EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
    });
    watcher.join();
    if (killed) {
      expectNamed(errors, victim);
    } else {
      expectNoErrors(errors);
      EXPECT_EQ(child->wait(), 0) << child->errors();
    }
  }
}

TEST_P(ControlMeetingTest, RankThatGivesUpIsNamed) {
  const int victim = GetParam();
  const ncclUniqueId id = createUniqueId();
  Members members = makeMembers(kRanks);
  const auto errors = runRanks(kRanks, [&](int rank) {
    EventfulBootstrap bootstrap(connectSocketBootstrap(id, rank, kRanks, {}), [&] {
      if (rank == victim) fail(ncclSystemError, "out of luck");
    });
    members[static_cast<size_t>(rank)]->open(bootstrap);
  });
  expectNamed(errors, victim);
}

TEST_P(ControlMeetingTest, RankThatTurnsItsNeighboursAwayIsTriedAgain) {
  const int crowded = GetParam();
  const ncclUniqueId id = createUniqueId();
  expectNoErrors(runRanks(kRanks, [&](int rank) {
    CrowdedBootstrap bootstrap(connectSocketBootstrap(id, rank, kRanks, {}), rank == crowded ? 7 : 0);
    Member member;
    member.open(bootstrap);
    EXPECT_EQ(bootstrap.dropped(), rank == crowded ? 7 : 0);
    member.plane->leave();
    EXPECT_TRUE(member.plane->waitAllLeft({}, 10s));
    EXPECT_EQ(member.errors, 0) << member.text;
  }));
}

INSTANTIATE_TEST_SUITE_P(Victims, ControlMeetingTest, testing::Values(0, 1, 2, 3, 6));

TEST_F(MeetingTest, RankThatTurnsEverybodyAwayIsNamed) {
  constexpr int crowded = 6;
  const ncclUniqueId id = createUniqueId();
  Members members = makeMembers(kRanks);
  const auto errors = runRanks(kRanks, [&](int rank) {
    CrowdedBootstrap bootstrap(connectSocketBootstrap(id, rank, kRanks, {}), rank == crowded ? 1000 : 0);
    members[static_cast<size_t>(rank)]->open(bootstrap);
  });
  expectNamed(errors, crowded);
}

// A rank that cannot even listen still takes part in the exchange of addresses.
TEST_F(ControlTest, RankWithoutAnInterfaceTellsTheOthers) {
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    setenv("NCCL_SOCKET_IFNAME", "=nosuchthing", 1);
    Member member;
    try {
      member.open(id, 2, kRanks);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ncclInvalidArgument);
    }
  });
  Members members = makeMembers(kRanks);
  const auto errors = runRanks(kRanks, [&](int rank) {
    if (rank == 2) fail(ncclInvalidArgument, "nosuchthing");
    members[static_cast<size_t>(rank)]->open(id, rank, kRanks);
  });
  test::expectEveryError(errors, ncclInvalidArgument, "nosuchthing");
  EXPECT_EQ(child.wait(), 0) << child.errors();
}

}  // namespace
}  // namespace rondo
