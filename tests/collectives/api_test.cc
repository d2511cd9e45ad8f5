// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The C API's edges: bad input gets the right code and one line that names what, where and the allowed range.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/collectives/world.h"

namespace rondo {
namespace {

using testing_world::GuardedBuffer;
using testing_world::Rank;
using testing_world::require;
using testing_world::runRanks;
using testing_world::ScopedEnv;

std::string lastError() { return ncclGetLastError(nullptr); }

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

ncclUniqueId newId() {
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

ncclResult_t initAlone(ncclComm_t* comm) { return ncclCommInitRank(comm, 1, newId(), 0); }

// Init of 'ranks' threads where each first calls prepare(rank); the codes they get.
std::vector<ncclResult_t> initTogether(int ranks, const std::function<int(int)>& rankOf) {
  const ncclUniqueId id = newId();
  std::vector<ncclResult_t> codes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const runtime::DeviceGuard guard(r % runtime::deviceCount());
      ncclComm_t comm = nullptr;
      codes[static_cast<size_t>(r)] = ncclCommInitRank(&comm, ranks, id, rankOf(r));
      if (comm != nullptr) ncclCommAbort(comm);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return codes;
}

struct BadSetting {
  const char* variable;
  const char* value;
  const char* range;
};

class BadSettings : public testing::TestWithParam<BadSetting> {};

TEST_P(BadSettings, AreRefusedByOneLine) {
  const ScopedEnv setting(GetParam().variable, GetParam().value);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(initAlone(&comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  const std::string text = lastError();
  EXPECT_TRUE(mentions(text, std::string(GetParam().variable) + "=" + GetParam().value)) << text;
  EXPECT_TRUE(mentions(text, GetParam().range)) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Api, BadSettings,
    testing::Values(BadSetting{"NCCL_STEPS", "3", "1, 2, 4, 8, 16, 32 or 64"}, BadSetting{"NCCL_STEPS", "128", "or 64"},
                    BadSetting{"NCCL_STEPS", "0", "or 64"}, BadSetting{"NCCL_STEPS", "many", "1, 2, 4, 8, 16, 32 or 64"},
                    BadSetting{"NCCL_BUFFSIZE", "1", "from "}, BadSetting{"NCCL_BUFFSIZE", "2147483648", "1073741824"},
                    BadSetting{"NCCL_NTHREADS", "1", "multiple of the wave size"},
                    BadSetting{"NCCL_NTHREADS", "4096", "to 512"}, BadSetting{"NCCL_MIN_NCHANNELS", "0", "from 1 to 64"},
                    BadSetting{"NCCL_MAX_NCHANNELS", "1000", "from 1 to 64"}));

TEST(Settings, OddBufferSizesWork) {
  for (const char* bytes : {"122880", "123000", "1000000"}) {
    const ScopedEnv setting("NCCL_BUFFSIZE", bytes);
    runRanks(2, [](Rank& rank) {
      GuardedBuffer buffer(100000, 0);
      require(ncclBroadcast(buffer.data(), buffer.data(), 100000, ncclInt8, 1, rank.comm, rank.stream), "ncclBroadcast");
    });
  }
}

TEST(Settings, ForcedChannelsThatCannotFitAreRefused) {
  // 64 channels for four communicators of five ranks that share one device are more blocks than it has.
  const ScopedEnv least("NCCL_MIN_NCHANNELS", "64");
  const ncclUniqueId id = newId();
  std::vector<std::thread> threads;
  std::vector<ncclResult_t> codes(5);
  for (int r = 0; r < 5; ++r) {
    threads.emplace_back([&, r] {
      const runtime::DeviceGuard guard(0);
      ncclComm_t comm = nullptr;
      codes[static_cast<size_t>(r)] = ncclCommInitRank(&comm, 5, id, r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (ncclResult_t code : codes) EXPECT_EQ(code, ncclInvalidUsage);
  EXPECT_TRUE(mentions(lastError(), "NCCL_MIN_NCHANNELS=64")) << lastError();
}

TEST(Init, RanksThatShareADevice) {
  const ncclUniqueId id = newId();
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      const runtime::DeviceGuard guard(0);
      runtime::OwnedStream stream;
      ncclComm_t comm = nullptr;
      require(ncclCommInitRank(&comm, 3, id, r), "ncclCommInitRank");
      GuardedBuffer buffer(3, 0);
      buffer.write({1, 2, 3});
      require(ncclAllReduce(buffer.data(), buffer.data(), 3, ncclInt8, ncclSum, comm, stream.get()), "ncclAllReduce");
      stream.synchronize();
      EXPECT_EQ(buffer.read(), (std::vector<char>{3, 6, 9}));
      require(ncclCommDestroy(comm), "ncclCommDestroy");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Init, RankOutOfRange) {
  ncclComm_t comm = nullptr;
  const ncclUniqueId id = newId();
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_TRUE(mentions(lastError(), "rank 2: must be from 0 to 1")) << lastError();
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
}

TEST(Init, ASecondRankWithTheSameNumber) {
  const auto codes = initTogether(3, [](int r) { return r == 2 ? 1 : r; });
  for (ncclResult_t code : codes) EXPECT_EQ(code, ncclInvalidUsage);
  EXPECT_TRUE(mentions(lastError(), "rank 1")) << lastError();
}

TEST(Init, GarbageId) {
  ncclUniqueId id;
  std::memset(&id, 0x41, sizeof(id));
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument);
  EXPECT_NE(lastError(), "");
}

TEST(Init, UnknownInterfaceIsNamed) {
  const ScopedEnv interface("NCCL_SOCKET_IFNAME", "=nosuchif0");
  ncclUniqueId id;
  EXPECT_NE(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_TRUE(mentions(lastError(), "nosuchif0")) << lastError();
}

TEST(Init, AllDevicesOfOneProcess) {
  ncclComm_t comms[4];
  require(ncclCommInitAll(comms, 4, nullptr), "ncclCommInitAll");
  for (int i = 0; i < 4; ++i) {
    int value = -1;
    require(ncclCommUserRank(comms[i], &value), "ncclCommUserRank");
    EXPECT_EQ(value, i);
    require(ncclCommCount(comms[i], &value), "ncclCommCount");
    EXPECT_EQ(value, 4);
    require(ncclCommCuDevice(comms[i], &value), "ncclCommCuDevice");
    EXPECT_EQ(value, i);
  }
  // One thread destroys them one after another: no call may wait for a later one.
  for (ncclComm_t comm : comms) require(ncclCommDestroy(comm), "ncclCommDestroy");
}

TEST(Init, NonBlocking) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclUniqueId id = newId();
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  int count = 0;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidArgument);  // used before it is ready
  ncclResult_t state = ncclSuccess;
  require(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  EXPECT_EQ(state, ncclInProgress);
  require(ncclCommAbort(comm), "ncclCommAbort");  // the other rank never comes
}

TEST(Init, ConfigOutOfRange) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 65;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, newId(), 0, &config), ncclInvalidArgument);
  EXPECT_TRUE(mentions(lastError(), "minCTAs=65")) << lastError();
  config = NCCL_CONFIG_INITIALIZER;
  config.magic = 1;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, newId(), 0, &config), ncclInvalidArgument);
}

TEST(Arguments, AreCheckedBeforeAnythingIsEnqueued) {
  runRanks(2, [](Rank& rank) {
    if (rank.rank != 0) return;  // the last error's text is the process's: one rank at a time reads it
    GuardedBuffer buffer(64, 0);
    char* data = buffer.data();
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt8, 2, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_TRUE(mentions(lastError(), "must be from 0 to 1"));
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt8, -1, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(data, nullptr, 1, ncclInt8, 0, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(nullptr, data, 1, ncclInt8, ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_TRUE(mentions(lastError(), "sendbuff"));
    EXPECT_EQ(ncclAllReduce(data, data + 4, 8, ncclInt8, ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, static_cast<ncclDataType_t>(12), ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, static_cast<ncclDataType_t>(-1), ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt8, static_cast<ncclRedOp_t>(5), rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt8, ncclSum, nullptr, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, SIZE_MAX / 2, ncclInt64, ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt8, ncclSum, rank.comm, rank.stream), ncclSuccess);
  });
}

TEST(Arguments, PointersAreCheckedWhenAskedFor) {
  const ScopedEnv check("NCCL_CHECK_POINTERS", "1");
  runRanks(2, [](Rank& rank) {
    std::vector<char> host(16);
    EXPECT_EQ(ncclAllReduce(host.data(), host.data(), 16, ncclInt8, ncclSum, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_TRUE(mentions(lastError(), "sendbuff")) << lastError();
  });
}

TEST(Destroy, TwiceAndUseAfter) {
  ncclComm_t comm = nullptr;
  require(initAlone(&comm), "ncclCommInitRank");
  require(ncclCommFinalize(comm), "ncclCommFinalize");
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt8, ncclSum, comm, nullptr), ncclInvalidUsage);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  require(ncclCommDestroy(comm), "ncclCommDestroy");
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  int count = 0;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess);
}

TEST(Errors, EveryCodeHasAText) {
  for (int code = -1; code < 16; ++code) {
    const char* text = ncclGetErrorString(static_cast<ncclResult_t>(code));
    ASSERT_NE(text, nullptr);
    EXPECT_NE(std::strlen(text), 0u);
  }
  int version = 0;
  require(ncclGetVersion(&version), "ncclGetVersion");
  EXPECT_EQ(version, 22809);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace rondo
