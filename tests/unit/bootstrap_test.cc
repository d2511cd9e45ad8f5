// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/bootstrap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "src/base/host.h"
#include "src/base/socket.h"
#include "tests/unit/child_process.h"
#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/unique_id.h"
#include "transport/bootstrap/wire.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;
using test::expectEveryError;
using test::expectNoErrors;
using test::runRanks;

class BootstrapTest : public testing::Test {
 protected:
  BootstrapTest() {
    unsetenv("NCCL_COMM_ID");
    setenv("RONDO_INIT_TIMEOUT", "30", 1);
  }
};

std::unique_ptr<Bootstrap> join(const ncclUniqueId& id, int rank, int ranks) {
  return connectSocketBootstrap(id, rank, ranks, {});
}

// Exchanges of several sizes, each entry checked.
void exchange(Bootstrap& bootstrap) {
  for (const size_t count : {size_t{1}, size_t{3}, size_t{20000}}) {
    std::vector<uint32_t> all(count * static_cast<size_t>(bootstrap.size()), 0);
    for (size_t i = 0; i < count; ++i)
      all[static_cast<size_t>(bootstrap.rank()) * count + i] = static_cast<uint32_t>(bootstrap.rank() * 1000003 + i);
    bootstrap.allGather(all.data(), count * sizeof(uint32_t));
    for (int rank = 0; rank < bootstrap.size(); ++rank)
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(all[static_cast<size_t>(rank) * count + i], static_cast<uint32_t>(rank * 1000003 + i));
  }
  bootstrap.allGather(nullptr, 0);
}

// A connection to where the id points, without a Hello.
Fd connectRaw(const ncclUniqueId& id) {
  IoResult result;
  const auto address = SocketAddress::resolve(decodeId(id).address, AF_UNSPEC).front();
  return connectTo(address, {{}, Clock::now() + 5s}, &result);
}

void sendRaw(const Fd& fd, const void* data, size_t bytes) {
  EXPECT_TRUE(sendAll(fd.get(), data, bytes, {{}, Clock::now() + 5s}).done());
}

bool isClosedByPeer(const Fd& fd, std::chrono::seconds within) {
  char byte;
  const IoResult result = receiveAll(fd.get(), &byte, 1, {{}, Clock::now() + within});
  return result.status == IoResult::Status::kClosed;
}

uint16_t freePort() {
  const Fd fd = listenOn(SocketAddress::any(AF_INET, 0));
  return SocketAddress::ofSocket(fd.get()).port();
}

class BootstrapRanksTest : public BootstrapTest, public testing::WithParamInterface<int> {};

TEST_P(BootstrapRanksTest, AllGather) {
  const int ranks = GetParam();
  const ncclUniqueId id = createUniqueId();
  expectNoErrors(runRanks(ranks, [&](int rank) {
    const auto bootstrap = join(id, rank, ranks);
    EXPECT_EQ(bootstrap->rank(), rank);
    EXPECT_EQ(bootstrap->size(), ranks);
    exchange(*bootstrap);
  }));
}

TEST_P(BootstrapRanksTest, AllGatherAtAFixedAddress) {
  const int ranks = GetParam();
  setenv("NCCL_COMM_ID", fmt::format("127.0.0.1:{}", freePort()).c_str(), 1);
  expectNoErrors(runRanks(ranks, [&](int rank) {
    // Each rank makes the id by itself, and rank 0 comes last.
    const ncclUniqueId id = createUniqueId();
    if (rank == 0) std::this_thread::sleep_for(150ms);
    exchange(*join(id, rank, ranks));
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, BootstrapRanksTest, testing::Values(1, 2, 3, 8, 17));

TEST_F(BootstrapTest, ArgumentsAreChecked) {
  const ncclUniqueId id = createUniqueId();
  for (const auto& [rank, ranks] : {std::pair{-1, 2}, std::pair{2, 2}, std::pair{0, 0}, std::pair{0, -3}}) {
    expectEveryError(runRanks(1, [&, rank = rank, ranks = ranks](int) { join(id, rank, ranks); }), ncclInvalidArgument,
                     "must be");
  }
  ncclUniqueId zero{};
  expectEveryError(runRanks(1, [&](int) { join(zero, 0, 1); }), ncclInvalidArgument, "not made by ncclGetUniqueId");
  ncclUniqueId other = id;
  other.internal[8] = 9;
  expectEveryError(runRanks(1, [&](int) { join(other, 0, 1); }), ncclInvalidArgument, "version 9");
  setenv("RONDO_INIT_TIMEOUT", "0", 1);
  expectEveryError(runRanks(1, [&](int) { createUniqueId(); }), ncclInvalidArgument, "from 1 to 86400");
}

TEST_F(BootstrapTest, IdIsZeroBehindItsAddressAndMaker) {
  const ncclUniqueId id = createUniqueId();
  EXPECT_EQ(decodeId(id).maker, processName());
  const size_t used = 24 + decodeId(id).address.size() + 1 + decodeId(id).maker.size();
  for (size_t i = used; i < sizeof(id.internal); ++i) EXPECT_EQ(id.internal[i], 0);
  EXPECT_NE(decodeId(id).secret, decodeId(createUniqueId()).secret);
}

TEST_F(BootstrapTest, MakerIsCutWhereTheAddressTakesTheRoom) {
  for (const size_t bytes : {size_t{50}, size_t{95}, size_t{102}, size_t{103}}) {
    const IdContent content{true, 7, std::string(bytes, 'a'), "somehost:12345"};
    const IdContent decoded = decodeId(encodeId(content));
    EXPECT_EQ(decoded.address, content.address);
    EXPECT_EQ(decoded.maker, content.maker.substr(0, 103 - bytes));
  }
  EXPECT_THROW(encodeId({true, 7, std::string(104, 'a'), ""}), Error);
}

TEST_F(BootstrapTest, RankGivenTwice) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(3, [&](int thread) { join(id, thread == 2 ? 1 : thread, 4); });
  expectEveryError(errors, ncclInvalidUsage, "rank 1 was given twice: rank 1 (");
}

TEST_F(BootstrapTest, RanksDisagreeOnTheirNumber) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(4, [&](int rank) {
    if (rank == 3) std::this_thread::sleep_for(300ms);  // comes after the error and is told all the same
    join(id, rank, rank == 1 ? 5 : 4);
  });
  expectEveryError(errors, ncclInvalidUsage, "ranks disagree on their number");
}

TEST_F(BootstrapTest, VersionMismatchIsToldToAll) {
  const ncclUniqueId id = createUniqueId();
  Fd old;
  const auto errors = runRanks(3, [&](int rank) {
    if (rank < 2) {
      join(id, rank, 3);
      return;
    }
    std::this_thread::sleep_for(200ms);
    old = connectRaw(id);
    wire::Hello hello = wire::makeHello(wire::kRootMagic, decodeId(id).secret, 2, 3);
    hello.version = 77;
    sendRaw(old, &hello, sizeof(hello));
    wire::FrameHeader header{};
    EXPECT_TRUE(receiveAll(old.get(), &header, sizeof(header), {{}, Clock::now() + 5s}).done());
    EXPECT_EQ(header.type, static_cast<uint32_t>(wire::FrameType::kError));
    fail(ncclInvalidUsage, "speaks version 77");
  });
  expectEveryError(errors, ncclInvalidUsage, "speaks version 77");
}

TEST_F(BootstrapTest, AbsentRanksAreNamed) {
  setenv("RONDO_INIT_TIMEOUT", "1", 1);
  const ncclUniqueId id = createUniqueId();
  const auto start = Clock::now();
  const auto errors = runRanks(2, [&](int thread) { join(id, thread == 0 ? 0 : 3, 6); });
  expectEveryError(errors, ncclRemoteError, "ranks 1, 2, 4, 5 of 6 did not come");
  EXPECT_EQ(errors[0]->peer(), 1);
  EXPECT_LT(Clock::now() - start, 4s);
}

TEST_F(BootstrapTest, AbsentRankAtAFixedAddress) {
  setenv("RONDO_INIT_TIMEOUT", "1", 1);
  setenv("NCCL_COMM_ID", fmt::format("localhost:{}", freePort()).c_str(), 1);
  const ncclUniqueId id = createUniqueId();
  expectEveryError(runRanks(1, [&](int) { join(id, 0, 2); }), ncclRemoteError, "rank 1 of 2 did not come");
  setenv("NCCL_COMM_ID", fmt::format("127.0.0.1:{}", freePort()).c_str(), 1);
  const ncclUniqueId alone = createUniqueId();
  const auto start = Clock::now();
  expectEveryError(runRanks(1, [&](int) { join(alone, 1, 2); }), ncclRemoteError, "ECONNREFUSED");
  EXPECT_LT(Clock::now() - start, 4s);
}

TEST_F(BootstrapTest, UsedIdIsRefusedAtOnce) {
  const ncclUniqueId id = createUniqueId();
  expectNoErrors(runRanks(2, [&](int rank) { exchange(*join(id, rank, 2)); }));
  const auto start = Clock::now();
  expectEveryError(runRanks(2, [&](int rank) { join(id, rank, 2); }), ncclInvalidUsage, "already used");
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST_F(BootstrapTest, TwoCommunicatorsFromOneIdAreNotBothMade) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(4, [&](int thread) { exchange(*join(id, thread % 2, 2)); });
  EXPECT_GE(std::count_if(errors.begin(), errors.end(), [](const auto& error) { return error.has_value(); }), 2);
}

TEST_F(BootstrapTest, SizesThatDiffer) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(3, [&](int rank) {
    const auto bootstrap = join(id, rank, 3);
    char all[64] = {};
    bootstrap->allGather(all, rank == 1 ? 8 : 4);
  });
  expectEveryError(errors, ncclInvalidUsage, "bytes");
}

TEST_F(BootstrapTest, RankThatGivesUpEndsTheOthers) {
  const ncclUniqueId id = createUniqueId();
  const auto errors = runRanks(3, [&](int rank) {
    const auto bootstrap = join(id, rank, 3);
    if (rank == 1) fail(ncclRemoteError, "rank 1 (");
    exchange(*bootstrap);
  });
  expectEveryError(errors, ncclRemoteError, "rank 1 (");
}

TEST_F(BootstrapTest, AbortEndsTheWait) {
  const ncclUniqueId id = createUniqueId();
  std::atomic<bool> aborted{false};
  std::thread aborter([&] {
    std::this_thread::sleep_for(200ms);
    aborted = true;
  });
  const auto start = Clock::now();
  const auto errors =
      runRanks(2, [&](int rank) { connectSocketBootstrap(id, rank, 3, [&] { return aborted.load(); }); });
  aborter.join();
  for (const auto& error : errors) EXPECT_TRUE(error.has_value());
  EXPECT_LT(Clock::now() - start, 2s);
}

TEST_F(BootstrapTest, KilledProcessIsNamed) {
  for (const bool beforeAllCame : {true, false}) {
    const ncclUniqueId id = createUniqueId();
    ChildProcess child([&] {
      const auto bootstrap = beforeAllCame ? nullptr : join(id, 1, 3);
      std::printf("ready\n");
      std::fflush(stdout);
      if (beforeAllCame) join(id, 1, 3);
      ::pause();
    });
    std::thread killer([&] {
      if (!beforeAllCame) child.readLine();
      std::this_thread::sleep_for(500ms);
      child.kill(SIGKILL);
    });
    const auto errors = runRanks(beforeAllCame ? 1 : 2, [&](int thread) {
      const auto bootstrap = join(id, thread * 2, 3);
      exchange(*bootstrap);
    });
    killer.join();
    expectEveryError(errors, ncclRemoteError, fmt::format(":{}) died or gave up during init", child.pid()));
  }
}

// The process that made the id is killed while the others wait for a rank that does not come, or are in an exchange.
TEST_F(BootstrapTest, KilledMakerOfTheIdIsNamed) {
  for (const int ranks : {3, 4}) {
    ChildProcess child([&] {
      const ncclUniqueId id = createUniqueId();
      for (const char byte : id.internal) std::printf("%d\n", byte);
      std::fflush(stdout);
      const auto bootstrap = join(id, 0, ranks);
      ::pause();
    });
    ncclUniqueId id;
    for (char& byte : id.internal) byte = static_cast<char>(std::stoi(child.readLine()));
    std::thread killer([&] {
      std::this_thread::sleep_for(500ms);
      child.kill(SIGKILL);
    });
    const auto errors = runRanks(2, [&](int thread) { exchange(*join(id, thread + 1, ranks)); });
    killer.join();
    for (const auto& error : errors) {
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), ncclRemoteError);
      EXPECT_NE(error->text().find(fmt::format(":{}, which made the unique id", child.pid())), std::string::npos)
          << error->text();
    }
  }
}

TEST_F(BootstrapTest, KilledRankAtAFixedAddressIsNamedSoon) {
  for (const int victim : {0, 1}) {
    setenv("NCCL_COMM_ID", fmt::format("127.0.0.1:{}", freePort()).c_str(), 1);
    const ncclUniqueId id = createUniqueId();
    ChildProcess child([&] { join(id, victim, 4); });
    Clock::time_point killed;
    std::thread killer([&] {
      std::this_thread::sleep_for(700ms);
      child.kill(SIGKILL);
      killed = Clock::now();
    });
    const auto errors = runRanks(2, [&](int thread) { join(id, thread == 0 ? 1 - victim : 2, 4); });
    killer.join();
    EXPECT_LT(Clock::now() - killed, 8s);
    expectEveryError(errors, ncclRemoteError, fmt::format("rank {} ", victim));
  }
}

TEST_F(BootstrapTest, StoppedProcessIsWaitedFor) {
  const ncclUniqueId id = createUniqueId();
  ChildProcess child([&] {
    const auto bootstrap = join(id, 1, 2);
    std::printf("ready\n");
    std::fflush(stdout);
    exchange(*bootstrap);
  });
  std::thread stopper([&] {
    child.readLine();
    child.kill(SIGSTOP);
    std::this_thread::sleep_for(1s);
    child.kill(SIGCONT);
  });
  expectNoErrors(runRanks(1, [&](int) { exchange(*join(id, 0, 2)); }));
  stopper.join();
  EXPECT_EQ(child.wait(), 0) << child.errors();
}

TEST_F(BootstrapTest, StrangersNeverBlock) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &limit);
  const ncclUniqueId id = createUniqueId();
  std::vector<Fd> strangers;
  const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const linger reset{1, 0};
  for (int i = 0; i < 500; ++i) {
    Fd fd = connectRaw(id);
    ASSERT_TRUE(fd.valid());
    switch (i % 5) {
      case 0:  // silent
        break;
      case 1:
        sendRaw(fd, http, sizeof(http));
        break;
      case 2:  // a right beginning and then nothing
        sendRaw(fd, wire::kRootMagic, sizeof(wire::kRootMagic));
        break;
      case 3: {  // right but for the secret
        const wire::Hello hello = wire::makeHello(wire::kRootMagic, decodeId(id).secret + 1, 0, 8);
        sendRaw(fd, &hello, sizeof(hello));
        break;
      }
      case 4:
        setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        fd.reset();
        break;
    }
    strangers.push_back(std::move(fd));
  }
  const auto start = Clock::now();
  expectNoErrors(runRanks(8, [&](int rank) { exchange(*join(id, rank, 8)); }));
  EXPECT_LT(Clock::now() - start, 4s);
}

TEST_F(BootstrapTest, SilentStrangersAreDroppedAfterFiveSeconds) {
  const ncclUniqueId id = createUniqueId();
  const Fd silent = connectRaw(id);
  const Fd wrong = connectRaw(id);
  sendRaw(wrong, "R?", 2);
  EXPECT_TRUE(isClosedByPeer(wrong, 2s));
  EXPECT_FALSE(isClosedByPeer(silent, 3s));
  EXPECT_TRUE(isClosedByPeer(silent, 5s));
}

TEST_F(BootstrapTest, RestartsOnAFixedPort) {
  setenv("NCCL_COMM_ID", fmt::format("127.0.0.1:{}", freePort()).c_str(), 1);
  setenv("RONDO_INIT_TIMEOUT", "10", 1);
  for (int round = 0; round < 100; ++round) {
    const auto body = [](int rank) { return [rank] { exchange(*join(createUniqueId(), rank, 2)); }; };
    ChildProcess first(body(round % 2)), second(body(1 - round % 2));
    ASSERT_EQ(first.wait(), 0) << "round " << round << first.errors();
    ASSERT_EQ(second.wait(), 0) << "round " << round << second.errors();
  }
}

TEST_F(BootstrapTest, DeadFormerRankAtAFixedAddressIsReplaced) {
  setenv("NCCL_COMM_ID", fmt::format("127.0.0.1:{}", freePort()).c_str(), 1);
  const ncclUniqueId id = createUniqueId();
  expectNoErrors(runRanks(3, [&](int rank) {
    if (rank == 1) {  // a former job's rank 1 comes first and goes
      wire::Hello hello = wire::makeHello(wire::kRootMagic, decodeId(id).secret, 1, 3);
      Fd former;
      while (!former.valid()) former = connectRaw(id);
      sendRaw(former, &hello, sizeof(hello));
      std::this_thread::sleep_for(200ms);
    }
    if (rank == 2) std::this_thread::sleep_for(500ms);
    exchange(*join(id, rank, 3));
  }));
}

// In a process of its own: roots of other tests may still be waiting for ranks.
void checkNothingIsLeftBehind() {
  const auto once = [] {
    const ncclUniqueId id = createUniqueId();
    expectNoErrors(runRanks(3, [&](int rank) { exchange(*join(id, rank, 3)); }));
  };
  once();
  const auto quiet = [] { return test::countThreads() == 3; };  // ".", ".." and this thread
  ASSERT_TRUE(test::waitUntil(quiet));
  const int before = test::countDescriptors();
  for (int i = 0; i < 100; ++i) once();
  EXPECT_TRUE(test::waitUntil([&] { return quiet() && test::countDescriptors() == before; }))
      << test::countThreads() << " threads, " << test::countDescriptors() << " descriptors, before " << before;
}

TEST_F(BootstrapTest, NothingIsLeftBehind) {
  test::runInChild(checkNothingIsLeftBehind);
}

}  // namespace
}  // namespace rondo
