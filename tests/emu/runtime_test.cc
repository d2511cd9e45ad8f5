// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The library's runtime layer, over the emulated device.
#include "device/runtime/runtime.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

TEST(Runtime, DeviceProperties) {
  EXPECT_EQ(runtime::deviceCount(), 256);
  const runtime::DeviceProperties properties = runtime::deviceProperties(77);
  EXPECT_EQ(properties.waveSize, 64);
  EXPECT_EQ(properties.multiprocessors, 256);
  EXPECT_EQ(properties.residentBlocks, 1);
  EXPECT_EQ(properties.busId, 77u);
  {
    const runtime::DeviceGuard guard(7);
    EXPECT_EQ(runtime::currentDevice(), 7);
  }
  EXPECT_EQ(runtime::currentDevice(), 0);
}

TEST(Runtime, MemoryIsZeroedAgain) {
  for (int round = 0; round < 3; ++round) {
    runtime::DeviceMemory memory(5000, runtime::MemoryUse::kPrivate);
    runtime::PinnedMemory pinned(5000);
    for (size_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(memory.data()[i], 0);
      ASSERT_EQ(pinned.data()[i], 0);
      memory.data()[i] = pinned.data()[i] = 1;
    }
  }
}

TEST(Runtime, CopiesAndMoves) {
  runtime::DeviceMemory memory(100, runtime::MemoryUse::kShared);
  EXPECT_EQ(runtime::pointerInfo(memory.data()).kind, runtime::MemoryKind::kDevice);
  std::vector<char> out(100, 'x'), in(100);
  EXPECT_EQ(runtime::pointerInfo(out.data()).kind, runtime::MemoryKind::kUnregisteredHost);
  runtime::copyToDevice(memory.data(), out.data(), 100);
  runtime::DeviceMemory moved = std::move(memory);
  EXPECT_EQ(memory.data(), nullptr);
  runtime::copyFromDevice(in.data(), moved.data(), 100);
  EXPECT_EQ(in, out);
  const runtime::ImportedMemory own(runtime::exportMemory(moved));
  EXPECT_EQ(own.data(), moved.data());
}

// The library's own copies must not wait for the program's streams.
TEST(Runtime, CopiesPassABusyNullStream) {
  Gate gate;
  gate.holdBack(nullptr);
  runtime::DeviceMemory memory(100, runtime::MemoryUse::kPrivate);
  char value = 3;
  runtime::copyToDevice(memory.data() + 99, &value, 1);
  EXPECT_EQ(memory.data()[99], 3);
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(nullptr));
}

TEST(Runtime, EventsAndStreams) {
  const runtime::OwnedStream first, second;
  runtime::Event event;
  EXPECT_TRUE(event.done());
  Gate gate;
  gate.holdBack(first.get());
  event.record(first.get());
  EXPECT_FALSE(event.done());
  event.makeWait(second.get());
  EXPECT_EQ(cudaStreamQuery(second.get()), cudaErrorNotReady);
  gate.open();
  event.wait();
  second.synchronize();
  EXPECT_TRUE(event.done());
  EXPECT_FALSE(runtime::isCapturing(first.get()));
  runtime::enablePeerAccess(9);
  runtime::enablePeerAccess(9);
  runtime::enablePeerAccess(runtime::currentDevice());
}

TEST(Runtime, ErrorsSayWhatAndHowMuch) {
  try {
    runtime::DeviceMemory memory(size_t{1} << 50, runtime::MemoryUse::kPrivate);
    FAIL() << "more memory than any machine has";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclUnhandledCudaError);
    EXPECT_EQ(error.text().find("allocation of device memory (1125899906842624 bytes): out of memory"), 0u)
        << error.text();
  }
  EXPECT_OK(cudaGetLastError());  // reported once
}

}  // namespace
}  // namespace rondo::emutest
