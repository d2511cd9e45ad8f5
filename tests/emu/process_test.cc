// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "device/emu/block_limit.h"
#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

constexpr int kPatience_ms = 20000;

TEST(Process, ExitsWhileStreamsAreBusy) {
  for (int round = 0; round < 10; ++round) {
    Child child({"exit-busy"});
    ASSERT_EQ(child.wait(kPatience_ms), 0);
  }
}

TEST(Process, ForkedChildIsTold) {
  Child child({"fork-late"});
  EXPECT_EQ(child.wait(kPatience_ms), 0);
}

TEST(Process, SignalsGoToTheProgramsThreads) {
  Child child({"signals"});
  EXPECT_EQ(child.wait(kPatience_ms), 0);
}

std::array<int, 3> settingsWith(const std::vector<std::string>& environment) {
  Child child({"settings"}, environment);
  std::array<int, 3> values{};
  EXPECT_TRUE(child.read(values.data(), sizeof values));
  EXPECT_EQ(child.wait(kPatience_ms), 0);
  return values;
}

TEST(Process, Settings) {
  EXPECT_EQ(settingsWith({}), (std::array{256, 64, 256}));
  EXPECT_EQ(settingsWith({"RONDO_EMU_DEVICES=3", "RONDO_EMU_WAVE=32", "RONDO_EMU_BLOCKS=8"}), (std::array{3, 32, 8}));
}

TEST(Process, WrongSettings) {
  for (const char* variable : {"RONDO_EMU_WAVE=16", "RONDO_EMU_WAVE=x", "RONDO_EMU_DEVICES=0", "RONDO_EMU_DEVICES=1e9",
                               "RONDO_EMU_BLOCKS=-1", "RONDO_EMU_PROGRESS=maybe"}) {
    Child child({"wrong-settings"}, {variable});
    EXPECT_EQ(child.wait(kPatience_ms), 0) << variable;
  }
}

TEST(Devices, NumbersAndPeers) {
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(256), cudaErrorInvalidDevice);
  EXPECT_OK(cudaSetDevice(255));
  char busId[16];
  EXPECT_OK(cudaDeviceGetPCIBusId(busId, sizeof busId, 255));
  int device = -1;
  EXPECT_OK(cudaDeviceGetByPCIBusId(&device, busId));
  EXPECT_EQ(device, 255);
  EXPECT_EQ(cudaDeviceGetPCIBusId(busId, 4, 255), cudaErrorInvalidValue);
  EXPECT_OK(cudaSetDevice(0));
  int can = -1;
  EXPECT_OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_OK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  int lanes = 0;
  EXPECT_OK(cudaDeviceGetAttribute(&lanes, cudaDevAttrWarpSize, 0));
  EXPECT_EQ(lanes, 64);
  EXPECT_EQ(cudaDeviceGetAttribute(&lanes, static_cast<cudaDeviceAttr>(7), 0), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

TEST(Devices, EveryErrorHasItsName) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorLaunchFailure), "cudaErrorLaunchFailure");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(13)), "unrecognized error code");
}

TEST(BlockLimit, FirstComeFirstServed) {
  emu::BlockLimit blocks(8);
  ASSERT_TRUE(blocks.acquire(6));
  std::atomic<int> served{0};
  std::thread needsMany([&] {
    ASSERT_TRUE(blocks.acquire(4));
    ++served;
    blocks.release(4);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it stands in line by now
  std::thread needsOne([&] {
    ASSERT_TRUE(blocks.acquire(1));
    ++served;
    blocks.release(1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(served, 0);  // the one would fit, but the other came first
  blocks.release(6);
  needsMany.join();
  needsOne.join();
  EXPECT_EQ(served, 2);
}

TEST(BlockLimit, NeverMoreThanTheLimitAndAllAreServed) {
  emu::BlockLimit blocks(8);
  EXPECT_FALSE(blocks.acquire(9));
  EXPECT_FALSE(blocks.acquire(-1));
  std::atomic<int> used{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 500; ++round) {
        const int count = t == 0 ? 8 : 1 + (round + t) % 4;  // one that always needs all of it
        ASSERT_TRUE(blocks.acquire(count));
        const int now = used += count;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        used -= count;
        blocks.release(count);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 8);
  EXPECT_EQ(used, 0);
}

}  // namespace
}  // namespace rondo::emutest
