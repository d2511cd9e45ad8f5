// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/emu/enqueue.h"
#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

void spendTime() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST(Streams, WorkRunsInOrder) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  struct Round {
    int* device;
    int number;
    int wrong;
  };
  int* device = nullptr;
  int* pinned = nullptr;
  ASSERT_OK(cudaMalloc(&device, sizeof(int)));
  ASSERT_OK(cudaMallocHost(&pinned, 1000 * sizeof(int)));
  std::vector<Round> rounds(1000);
  for (int i = 0; i < 1000; ++i) {
    pinned[i] = i;
    rounds[i] = {device, i, 0};
    ASSERT_OK(cudaMemcpyAsync(device, &pinned[i], sizeof(int), cudaMemcpyHostToDevice, stream));
    const auto look = [](void* data) {
      auto* round = static_cast<Round*>(data);
      round->wrong = *round->device != round->number;
    };
    ASSERT_OK(cudaLaunchHostFunc(stream, look, &rounds[i]));
  }
  ASSERT_OK(cudaStreamSynchronize(stream));
  for (const Round& round : rounds) EXPECT_EQ(round.wrong, 0) << round.number;
  EXPECT_EQ(*device, 999);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaFreeHost(pinned));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, UnpinnedSourceIsReadAtTheCall) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  int* device = nullptr;
  ASSERT_OK(cudaMalloc(&device, sizeof(int)));
  Gate gate;
  gate.holdBack(stream);
  int value = 41;
  ASSERT_OK(cudaMemcpyAsync(device, &value, sizeof value, cudaMemcpyHostToDevice, stream));
  value = 0;
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(*device, 41);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, QueryAndSynchronize) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  EXPECT_OK(cudaStreamQuery(stream));
  Gate gate;
  gate.holdBack(stream);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_OK(cudaGetLastError());
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamQuery(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, DestroyReturnsAtOnceAndTheWorkIsDone) {
  static std::atomic<int> done;
  done = 0;
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Gate gate;
  gate.holdBack(stream);
  ASSERT_OK(cudaLaunchHostFunc(
      stream, [](void*) { done = 1; }, nullptr));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_EQ(done, 0);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  gate.open();
  EXPECT_OK(cudaDeviceSynchronize());  // waits for destroyed streams as well
  EXPECT_EQ(done, 1);
  (void)cudaGetLastError();
}

TEST(Streams, WrongHandles) {
  int something = 0;
  const auto garbage = reinterpret_cast<cudaStream_t>(&something);
  EXPECT_EQ(cudaStreamSynchronize(garbage), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(&something, 0, 1, garbage), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
  cudaStream_t stream;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 8), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

// Who ran as which.
struct Log {
  std::atomic<int> count{0};
  std::atomic<int> nullStream{-1};
  std::atomic<int> before{-1};
  std::atomic<int> after{-1};
  std::atomic<int> apart{-1};
};

template <std::atomic<int> Log::*field>
void note(void* data) {
  auto* log = static_cast<Log*>(data);
  log->*field = log->count++;
}

TEST(NullStream, WaitsForBlockingStreamsAndHoldsThemBack) {
  cudaStream_t first, second, apart;
  ASSERT_OK(cudaStreamCreate(&first));
  ASSERT_OK(cudaStreamCreate(&second));
  ASSERT_OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  Log log;
  Gate gate;
  gate.holdBack(first);
  ASSERT_OK(cudaLaunchHostFunc(first, note<&Log::before>, &log));
  ASSERT_OK(cudaLaunchHostFunc(nullptr, note<&Log::nullStream>, &log));
  ASSERT_OK(cudaLaunchHostFunc(second, note<&Log::after>, &log));
  ASSERT_OK(cudaLaunchHostFunc(apart, note<&Log::apart>, &log));
  ASSERT_OK(cudaStreamSynchronize(apart));
  EXPECT_EQ(log.apart, 0);  // not in the null stream's order
  spendTime();
  EXPECT_EQ(log.count, 1);  // the others stand behind the gate
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(second));
  EXPECT_EQ(log.before, 1);
  EXPECT_EQ(log.nullStream, 2);
  EXPECT_EQ(log.after, 3);
  for (cudaStream_t stream : {first, second, apart}) EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(NullStream, SynchronousCopyWaitsForBlockingStreams) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  int* device = nullptr;
  ASSERT_OK(cudaMalloc(&device, sizeof(int)));
  *device = 0;
  const auto write = [](void* data) {
    spendTime();
    *static_cast<int*>(data) = 17;
  };
  ASSERT_OK(cudaLaunchHostFunc(stream, write, device));
  int seen = 0;
  ASSERT_OK(cudaMemcpy(&seen, device, sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen, 17);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaStreamDestroy(stream));
}

// A fill of device memory does not hold the host up; it keeps its place in the null stream's order.
TEST(NullStream, FillBehindBusyStreamReturnsAtOnce) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  char* device = nullptr;
  ASSERT_OK(cudaMalloc(&device, 8));
  *device = 1;
  Gate gate;
  gate.holdBack(stream);
  ASSERT_OK(cudaMemset(device, 2, 8));
  EXPECT_EQ(*device, 1);
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(*device, 2);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(NullStream, PerThreadStreamIsTheThreadsOwn) {
  unsigned long long mine = 0, mineAgain = 0, theirs = 0;
  ASSERT_OK(cudaStreamGetId(cudaStreamPerThread, &mine));
  ASSERT_OK(cudaStreamGetId(cudaStreamPerThread, &mineAgain));
  std::thread([&] { ASSERT_OK(cudaStreamGetId(cudaStreamPerThread, &theirs)); }).join();
  EXPECT_EQ(mine, mineAgain);
  EXPECT_NE(mine, theirs);
  static std::atomic<int> done;
  done = 0;
  std::thread([] {  // work outlives the thread that issued it
    ASSERT_OK(cudaLaunchHostFunc(
        cudaStreamPerThread,
        [](void*) {
          spendTime();
          done = 1;
        },
        nullptr));
  })
      .join();
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(done, 1);
}

TEST(Streams, DevicesHaveTheirOwn) {
  ASSERT_OK(cudaSetDevice(3));
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  Gate gate;
  gate.holdBack(stream);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaStreamQuery(nullptr));
  int device = -1;
  EXPECT_OK(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 3);
  EXPECT_EQ(emu::deviceOfStream(stream)->index(), 3);
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, HostFunctionMayNotCallTheRuntime) {
  static std::atomic<int> code;
  code = -1;
  ASSERT_OK(cudaLaunchHostFunc(
      nullptr, [](void*) { code = cudaStreamSynchronize(nullptr); }, nullptr));
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(code, cudaErrorNotPermitted);
}

TEST(Streams, ManyThreadsOneStream) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  static int count;  // not atomic: the stream alone orders its uses
  count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        ASSERT_OK(cudaLaunchHostFunc(
            stream, [](void*) { ++count; }, nullptr));
        if (i % 50 == 0) {
          ASSERT_OK(cudaStreamSynchronize(stream));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(count, 2000);
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, NullStreamAmongMany) {
  std::vector<cudaStream_t> streams(4);
  for (cudaStream_t& stream : streams) ASSERT_OK(cudaStreamCreate(&stream));
  static int count;  // every other call is in the null stream, which orders them all
  count = 0;
  for (int round = 0; round < 300; ++round) {
    ASSERT_OK(cudaLaunchHostFunc(
        streams[round % 4], [](void*) { ++count; }, nullptr));
    ASSERT_OK(cudaLaunchHostFunc(
        nullptr, [](void*) { ++count; }, nullptr));
  }
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(count, 600);
  for (cudaStream_t stream : streams) EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Streams, FailureStaysUntilReset) {
  ASSERT_OK(cudaSetDevice(5));
  static std::atomic<int> later, status;
  later = 0;
  status = -1;
  cudaStream_t stream;
  cudaEvent_t event;
  ASSERT_OK(cudaStreamCreate(&stream));
  ASSERT_OK(cudaEventCreate(&event));
  {
    Gate gate;
    gate.holdBack(stream);
    ASSERT_EQ(emu::enqueueOnStream(stream, [] { throw std::runtime_error("trap in block 3"); }), cudaSuccess);
    ASSERT_OK(cudaLaunchHostFunc(
        stream, [](void*) { later = 1; }, nullptr));
    ASSERT_OK(cudaStreamAddCallback(
        stream, [](cudaStream_t, cudaError_t code, void*) { status = code; }, nullptr, 0));
    ASSERT_OK(cudaEventRecord(event, stream));
  }
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
  EXPECT_EQ(later, 0);
  EXPECT_EQ(status, cudaErrorLaunchFailure);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 8), cudaErrorLaunchFailure);
  EXPECT_EQ(emu::enqueueOnStream(stream, [] {}), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaMalloc(&memory, 8));  // another device works on
  EXPECT_OK(cudaFree(memory));
  ASSERT_OK(cudaSetDevice(5));
  EXPECT_OK(cudaDeviceReset());
  EXPECT_OK(cudaGetLastError());
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_OK(cudaMalloc(&memory, 8));
  EXPECT_OK(cudaFree(memory));
  ASSERT_OK(cudaSetDevice(0));
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace rondo::emutest
