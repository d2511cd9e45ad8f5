// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

class Events : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking));
    ASSERT_OK(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking));
    ASSERT_OK(cudaEventCreate(&event_));
  }
  void TearDown() override {
    EXPECT_OK(cudaEventDestroy(event_));
    EXPECT_OK(cudaStreamDestroy(first_));
    EXPECT_OK(cudaStreamDestroy(second_));
    (void)cudaGetLastError();
  }

  cudaStream_t first_, second_;
  cudaEvent_t event_;
};

TEST_F(Events, NeverRecordedIsDone) {
  EXPECT_OK(cudaEventQuery(event_));
  EXPECT_OK(cudaEventSynchronize(event_));
  EXPECT_OK(cudaStreamWaitEvent(first_, event_));
  EXPECT_OK(cudaStreamSynchronize(first_));
}

TEST_F(Events, OrderStreams) {
  static int value;  // plain: the events order its uses
  value = 0;
  static int wrong;
  wrong = 0;
  for (int round = 0; round < 500; ++round) {
    ASSERT_OK(cudaLaunchHostFunc(
        first_, [](void*) { wrong += value++ % 2 != 0; }, nullptr));
    ASSERT_OK(cudaEventRecord(event_, first_));
    ASSERT_OK(cudaStreamWaitEvent(second_, event_));
    ASSERT_OK(cudaLaunchHostFunc(
        second_, [](void*) { wrong += value++ % 2 != 1; }, nullptr));
    ASSERT_OK(cudaEventRecord(event_, second_));
    ASSERT_OK(cudaStreamWaitEvent(first_, event_));
  }
  ASSERT_OK(cudaEventSynchronize(event_));
  EXPECT_EQ(value, 1000);
  EXPECT_EQ(wrong, 0);
}

// A wait is for the record that was the latest at its call.
TEST_F(Events, WaitKeepsItsRecord) {
  ASSERT_OK(cudaEventRecord(event_, first_));
  Gate gate;
  gate.holdBack(first_);
  ASSERT_OK(cudaStreamWaitEvent(second_, event_));
  ASSERT_OK(cudaEventRecord(event_, first_));
  EXPECT_OK(cudaStreamSynchronize(second_));  // the earlier record was reached
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event_));
  EXPECT_OK(cudaEventQuery(event_));
}

TEST_F(Events, DestroyedWhileWaitedFor) {
  cudaEvent_t gone;
  ASSERT_OK(cudaEventCreateWithFlags(&gone, cudaEventDisableTiming));
  static std::atomic<int> done;
  done = 0;
  Gate gate;
  gate.holdBack(first_);
  ASSERT_OK(cudaEventRecord(gone, first_));
  ASSERT_OK(cudaStreamWaitEvent(second_, gone));
  ASSERT_OK(cudaLaunchHostFunc(
      second_, [](void*) { done = 1; }, nullptr));
  EXPECT_OK(cudaEventDestroy(gone));
  EXPECT_EQ(cudaEventQuery(gone), cudaErrorInvalidResourceHandle);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(done, 0);
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(second_));
  EXPECT_EQ(done, 1);
}

TEST_F(Events, AcrossDevices) {
  cudaStream_t other;
  ASSERT_OK(cudaSetDevice(1));
  ASSERT_OK(cudaStreamCreate(&other));
  EXPECT_EQ(cudaEventRecord(event_, other), cudaErrorInvalidResourceHandle);
  Gate gate;
  gate.holdBack(first_);
  ASSERT_OK(cudaEventRecord(event_, first_));
  ASSERT_OK(cudaStreamWaitEvent(other, event_));
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(other));
  EXPECT_OK(cudaStreamDestroy(other));
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(Events, ElapsedTime) {
  cudaEvent_t end, untimed;
  ASSERT_OK(cudaEventCreate(&end));
  ASSERT_OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event_, end), cudaErrorInvalidResourceHandle);  // never recorded
  ASSERT_OK(cudaEventRecord(event_, first_));
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  ASSERT_OK(cudaLaunchHostFunc(first_, sleep, nullptr));
  ASSERT_OK(cudaEventRecord(end, first_));
  EXPECT_EQ(cudaEventElapsedTime(&ms, event_, end), cudaErrorNotReady);
  ASSERT_OK(cudaEventSynchronize(end));
  ASSERT_OK(cudaEventElapsedTime(&ms, event_, end));
  EXPECT_GE(ms, 30.0f);
  EXPECT_LT(ms, 3000.0f);
  ASSERT_OK(cudaEventRecord(untimed, first_));
  EXPECT_EQ(cudaEventElapsedTime(&ms, event_, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_OK(cudaEventDestroy(end));
  EXPECT_OK(cudaEventDestroy(untimed));
}

}  // namespace
}  // namespace rondo::emutest
