// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Crowds of strangers at the doors of one process.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>

#include "src/base/socket.h"
#include "tests/unit/child_process.h"
#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/bootstrap.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/unique_id.h"
#include "transport/bootstrap/wire.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;

Fd callAt(const ncclUniqueId& id) {
  IoResult result;
  const auto address = SocketAddress::resolve(decodeId(id).address, AF_UNSPEC).front();
  Fd fd = connectTo(address, {{}, Clock::now() + 5s}, &result);
  if (!fd.valid()) throw std::runtime_error(result.text());
  return fd;
}

void limitDescriptors(rlim_t limit) {
  rlimit both{};
  getrlimit(RLIMIT_NOFILE, &both);
  both.rlim_cur = limit;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &both), 0);
}

void dropAllOf(int strangers) {
  const ncclUniqueId id = createUniqueId();
  for (int i = 0; i < strangers; ++i) {
    const Fd fd = callAt(id);
    sendAll(fd.get(), "hello", 5, {{}, Clock::now() + 5s});
    char answer = 0;
    EXPECT_EQ(receiveAll(fd.get(), &answer, 1, {{}, Clock::now() + 5s}).status, IoResult::Status::kClosed);
  }
  const auto bootstrap = connectSocketBootstrap(id, 0, 1, {});
}

TEST(DoorkeeperTest, FewStrangersGetAWarningEach) {
  const auto result = test::runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    dropAllOf(9);
  });
  EXPECT_EQ(test::splitLines(result.output).size(), 9u) << result.output;
}

TEST(DoorkeeperTest, ManyStrangersAreCounted) {
  const auto result = test::runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    dropAllOf(300);
  });
  const auto lines = test::splitLines(result.output);
  ASSERT_EQ(lines.size(), 11u) << result.output;
  EXPECT_NE(lines[0].find("dropped a connection from"), std::string::npos) << lines[0];
  EXPECT_NE(lines[9].find("more of this kind will only be counted"), std::string::npos) << lines[9];
  EXPECT_NE(lines[10].find("290 more warnings like these"), std::string::npos) << lines[10];
}

// While the service thread is busy a rank comes and greets, then more strangers than there is room for.
TEST(DoorkeeperTest, GreetingIsHeardWhateverComesAfterIt) {
  test::runInChild([] {
    const ncclUniqueId id = createUniqueId();
    std::promise<void> busy, free;
    EventLoop::get().post([&] {
      busy.set_value();
      free.get_future().wait();
    });
    busy.get_future().wait();
    const Fd rank = callAt(id);
    const wire::Hello hello = wire::makeHello(wire::kRootMagic, decodeId(id).secret, 0, 1);
    sendAll(rank.get(), &hello, sizeof(hello), {{}, Clock::now() + 5s});
    std::vector<Fd> strangers;
    for (int i = 0; i < 200; ++i) strangers.push_back(callAt(id));
    limitDescriptors(400);  // room for 100
    free.set_value();
    wire::FrameHeader answer{};
    EXPECT_TRUE(receiveAll(rank.get(), &answer, sizeof(answer), {{}, Clock::now() + 5s}).done());
    EXPECT_EQ(answer.type, static_cast<uint32_t>(wire::FrameType::kWelcome));
  });
}

// All doors of a process together leave it three quarters of its descriptors.
TEST(DoorkeeperTest, SilentCrowdsAtManyDoors) {
  test::runInChild([] {
    std::vector<ncclUniqueId> ids(20);
    for (ncclUniqueId& id : ids) id = createUniqueId();
    const int before = test::countDescriptors();
    limitDescriptors(400);
    test::ChildProcess crowd([&ids] {
      limitDescriptors(1000);
      std::vector<Fd> strangers;
      for (int i = 0; i < 40; ++i)
        for (const ncclUniqueId& id : ids) strangers.push_back(callAt(id));
      std::printf("all here\n");
      std::fflush(stdout);
      ::pause();
    });
    std::atomic<bool> here{false};
    std::thread listener([&] { here = crowd.readLine() == "all here"; });
    int most = 0;
    while (!here) most = std::max(most, test::countDescriptors());
    listener.join();
    EXPECT_GT(most, before + 50);
    EXPECT_LE(most, before + 100 + 8);  // the crowd's pipes, and what is being accepted or counted
    crowd.kill(SIGKILL);
  });
}

}  // namespace
}  // namespace rondo
