// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// rondoCommInitWith: a communicator whose ranks find each other by the program's own functions.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rondo/rondo.h"

namespace {

// Exchanges between threads of this process; faulty on purpose where told so.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks), gate_(ranks) {}

  struct Member {
    Meeting* meeting;
    int rank;
    std::thread::id thread;
    int calls = 0;
    int code = 0;                // returned by allGather, after the exchange
    bool bringsNothing = false;  // returns 0 without the others' bytes
    bool inside = true;          // the init call has not returned
  };

  static int allGather(void* context, void* all, size_t bytes) {
    auto* member = static_cast<Member*>(context);
    EXPECT_EQ(member->thread, std::this_thread::get_id());
    EXPECT_TRUE(member->inside);
    EXPECT_LT(bytes, 2048u);
    ++member->calls;
    Meeting& meeting = *member->meeting;
    const auto place = static_cast<size_t>(member->rank) * bytes;
    if (member->rank == 0) meeting.bytes_.resize(bytes * static_cast<size_t>(meeting.ranks_));
    meeting.gate_.arrive_and_wait();
    std::memcpy(meeting.bytes_.data() + place, static_cast<char*>(all) + place, bytes);
    meeting.gate_.arrive_and_wait();
    if (!member->bringsNothing) std::memcpy(all, meeting.bytes_.data(), meeting.bytes_.size());
    meeting.gate_.arrive_and_wait();
    return member->code;
  }

  static const char* errorText(void*, int code) { return code == 77 ? "the store is empty" : nullptr; }

  Member member(int rank) { return {this, rank, std::this_thread::get_id()}; }
  static rondoBootstrap_t bootstrap(Member& member) {
    return {sizeof(rondoBootstrap_t), &member, allGather, errorText};
  }

 private:
  const int ranks_;
  std::barrier<> gate_;
  std::vector<char> bytes_;
};

void runThreads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

class InitWithRanksTest : public testing::TestWithParam<int> {};

TEST_P(InitWithRanksTest, MakesACommunicatorThatWorks) {
  const int ranks = GetParam();
  Meeting meeting(ranks);
  runThreads(ranks, [&](int rank) {
    Meeting::Member member = meeting.member(rank);
    rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
    if (rank == 1) {  // of an older header, which knew less
      bootstrap.size = offsetof(rondoBootstrap_t, errorText);
      bootstrap.errorText = reinterpret_cast<const char* (*)(void*, int)>(1);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = rank % 2;
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    ncclComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitWith(&comm, ranks, rank, &bootstrap, rank == 2 ? nullptr : &config), ncclSuccess)
        << ncclGetLastError(nullptr);
    member.inside = false;
    std::memset(static_cast<void*>(&bootstrap), 0, sizeof(bootstrap));
    EXPECT_EQ(member.calls, 1);
    int count = 0, user = -1, device = -1;
    ncclResult_t state = ncclInternalError;
    EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comm, &user), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comm, &device), ncclSuccess);
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess) << "non-blocking or not, init is over";
    EXPECT_EQ(count, ranks);
    EXPECT_EQ(user, rank);
    EXPECT_EQ(device, rank);

    cudaStream_t stream = nullptr;
    float* data = nullptr;
    float value = static_cast<float>(rank + 1);
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), sizeof(float)), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(data, &value, sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, stream), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(&value, data, sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(value, static_cast<float>(ranks * (ranks + 1) / 2));
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, InitWithRanksTest, testing::Values(1, 2, 3, 8));

ncclComm_t notNull() {
  return reinterpret_cast<ncclComm_t>(4);
}

void expectRefused(ncclResult_t result, ncclResult_t code, ncclComm_t comm, const char* part) {
  EXPECT_EQ(result, code) << ncclGetLastError(nullptr);
  EXPECT_EQ(comm, nullptr);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find(part), std::string::npos) << ncclGetLastError(nullptr);
}

TEST(InitWithTest, ArgumentsAreChecked) {
  Meeting meeting(1);
  Meeting::Member member = meeting.member(0);
  const rondoBootstrap_t good = Meeting::bootstrap(member);
  const auto init = [&](int ranks, int rank, const rondoBootstrap_t* bootstrap, const char* part) {
    ncclComm_t comm = notNull();
    const ncclResult_t result = rondoCommInitWith(&comm, ranks, rank, bootstrap, nullptr);
    expectRefused(result, ncclInvalidArgument, comm, part);
  };
  EXPECT_EQ(rondoCommInitWith(nullptr, 1, 0, &good, nullptr), ncclInvalidArgument);
  init(0, 0, &good, "nranks 0: must be at least 1");
  init(2, 2, &good, "rank 2: must be from 0 to 1");
  init(2, -1, &good, "rank -1: must be from 0 to 1");
  init(1, 0, nullptr, "bootstrap is NULL");
  rondoBootstrap_t bad = good;
  bad.size = 0;
  init(1, 0, &bad, "bootstrap.size=0: must be sizeof(rondoBootstrap_t)");
  bad = good;
  bad.allGather = nullptr;
  init(1, 0, &bad, "bootstrap.allGather is NULL");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 5;
  ncclComm_t comm = notNull();
  const ncclResult_t result = rondoCommInitWith(&comm, 1, 0, &good, &config);
  expectRefused(result, ncclInvalidArgument, comm, "config.blocking=5");
  EXPECT_EQ(member.calls, 0);
}

TEST(InitWithTest, NotInAGroup) {
  Meeting meeting(1);
  Meeting::Member member = meeting.member(0);
  const rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
  ncclComm_t comm = notNull();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  const ncclResult_t result = rondoCommInitWith(&comm, 1, 0, &bootstrap, nullptr);
  expectRefused(result, ncclInvalidUsage, comm, "between ncclGroupStart and ncclGroupEnd");
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(member.calls, 0);
}

TEST(InitWithTest, FailingFunctionIsTold) {
  Meeting meeting(1);
  for (const int code : {77, -3}) {
    Meeting::Member member = meeting.member(0);
    member.code = code;
    const rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
    ncclComm_t comm = notNull();
    const ncclResult_t result = rondoCommInitWith(&comm, 1, 0, &bootstrap, nullptr);
    expectRefused(result, ncclRemoteError, comm, code == 77 ? "failed with 77: the store is empty" : "failed with -3");
  }
}

// Ranks 0 and 2 of three succeed in the exchange, rank 1 does not and never listens for them.
TEST(InitWithTest, RankWhoseFunctionFailsIsNamedByTheOthers) {
  Meeting meeting(3);
  runThreads(3, [&](int rank) {
    Meeting::Member member = meeting.member(rank);
    member.code = rank == 1 ? 5 : 0;
    const rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
    ncclComm_t comm = notNull();
    EXPECT_EQ(rondoCommInitWith(&comm, 3, rank, &bootstrap, nullptr), ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("rank 1"), std::string::npos) << ncclGetLastError(nullptr);
  });
}

TEST(InitWithTest, ExchangeThatBringsNothingIsTold) {
  Meeting meeting(2);
  runThreads(2, [&](int rank) {
    Meeting::Member member = meeting.member(rank);
    member.bringsNothing = true;
    const rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
    ncclComm_t comm = notNull();
    EXPECT_EQ(rondoCommInitWith(&comm, 2, rank, &bootstrap, nullptr), ncclInvalidUsage);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("did not bring what rank"), std::string::npos);
  });
}

TEST(InitWithTest, RanksThatDoNotFitTogether) {
  Meeting meeting(2);
  runThreads(2, [&](int rank) {
    Meeting::Member member = meeting.member(rank);
    const rondoBootstrap_t bootstrap = Meeting::bootstrap(member);
    ncclComm_t comm = notNull();
    EXPECT_EQ(rondoCommInitWith(&comm, 2, 0, &bootstrap, nullptr), ncclInvalidUsage) << "rank 0 twice";
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(ReportErrorTest, BecomesTheLastErrorAndFailsTheGroup) {
  EXPECT_EQ(rondoReportError(ncclInvalidUsage, "used wrongly"), ncclInvalidUsage);
  EXPECT_STREQ(ncclGetLastError(nullptr), "used wrongly");
  EXPECT_EQ(rondoReportError(ncclSuccess, "no error at all"), ncclInternalError);
  EXPECT_EQ(rondoReportError(ncclInProgress, nullptr), ncclInternalError);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(rondoReportError(ncclSystemError, "in a group"), ncclSystemError);
  EXPECT_EQ(ncclGroupEnd(), ncclSystemError);
}

}  // namespace
