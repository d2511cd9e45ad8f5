// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "device/emu/device.h"
#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

TEST(Memory, AlignmentAndUse) {
  for (const size_t bytes : {size_t{1}, size_t{255}, size_t{257}, size_t{65535}, size_t{65536}, size_t{1} << 24}) {
    char* memory = nullptr;
    ASSERT_OK(cudaMalloc(&memory, bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
    EXPECT_OK(cudaMemset(memory, 7, bytes));
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(memory[0], 7);
    EXPECT_EQ(memory[bytes - 1], 7);
    EXPECT_OK(cudaFree(memory));
  }
}

TEST(Memory, NullAndZero) {
  void* memory = reinterpret_cast<void*>(8);
  EXPECT_OK(cudaMalloc(&memory, 0));
  EXPECT_EQ(memory, nullptr);
  EXPECT_OK(cudaFree(nullptr));
  EXPECT_OK(cudaFreeHost(nullptr));
  EXPECT_EQ(cudaMalloc(static_cast<void**>(nullptr), 8), cudaErrorInvalidValue);
}

TEST(Memory, MoreThanTheMachineHasIsRefused) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  for (const size_t bytes : {total, total + 1, size_t{1} << 50, SIZE_MAX, SIZE_MAX - 4095}) {
    void* memory = &free;
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaErrorMemoryAllocation) << bytes;
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(cudaMallocHost(&memory, bytes), cudaErrorMemoryAllocation) << bytes;
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Memory that is reserved but not touched counts: three thirds and a bit do not fit, though nothing is in use.
TEST(Memory, ReservedMemoryCounts) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_OK(cudaMemGetInfo(&free, &total));
  const size_t part = free / 3;
  std::vector<void*> parts;
  for (;;) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, part) != cudaSuccess) break;
    parts.push_back(memory);
    ASSERT_LE(parts.size(), 3u);
  }
  EXPECT_GE(parts.size(), 2u);
  for (void* memory : parts) EXPECT_OK(cudaFree(memory));
  size_t after = 0;
  ASSERT_OK(cudaMemGetInfo(&after, &total));
  EXPECT_GT(after, part * 2);  // all of it is back
  (void)cudaGetLastError();
}

TEST(Memory, FreedRangesGoBackToTheMachine) {
  constexpr size_t kBytes = size_t{32} << 20;
  const size_t before = emu::touchedBytesOfAllDevices();
  void* memory = nullptr;
  ASSERT_OK(cudaMalloc(&memory, kBytes));
  ASSERT_OK(cudaMemset(memory, 1, kBytes));
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_GE(emu::touchedBytesOfAllDevices(), before + kBytes);
  ASSERT_OK(cudaFree(memory));
  EXPECT_LT(emu::touchedBytesOfAllDevices(), before + kBytes);
}

TEST(Memory, FreedRangesAreUsedAgain) {
  std::vector<char*> parts(64);
  for (char*& part : parts) ASSERT_OK(cudaMalloc(&part, 100000));
  const char* first = *std::min_element(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size(); i += 2) EXPECT_OK(cudaFree(parts[i]));
  for (size_t i = 1; i < parts.size(); i += 2) EXPECT_OK(cudaFree(parts[i]));
  char* whole = nullptr;
  ASSERT_OK(cudaMalloc(&whole, 64 * 100000));  // fits where the parts were only if they became one range
  EXPECT_EQ(whole, first);
  EXPECT_OK(cudaFree(whole));
}

TEST(Memory, WrongFreesAreFound) {
  char* memory = nullptr;
  ASSERT_OK(cudaMalloc(&memory, 4096));
  int local = 0;
  EXPECT_EQ(cudaFree(memory + 256), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(memory), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(memory));
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  char* pinned = nullptr;
  ASSERT_OK(cudaMallocHost(&pinned, 10));
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_OK(cudaFreeHost(pinned));
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

// Each thread keeps some allocations, each filled with its own value, and finds them unharmed when it frees them.
void allocateAndFree(unsigned seed) {
  std::minstd_rand random(seed);
  std::map<unsigned char*, std::pair<size_t, unsigned char>> held;
  for (int round = 0; round < 10000; ++round) {
    if (held.size() < 16) {
      const size_t bytes = random() % 8 == 0 ? 1 + random() % 200000 : 1 + random() % 2000;
      unsigned char* memory = nullptr;
      ASSERT_OK(cudaMalloc(&memory, bytes));
      const auto value = static_cast<unsigned char>(seed * 16 + held.size());
      memory[0] = memory[bytes - 1] = value;
      ASSERT_TRUE(held.emplace(memory, std::pair(bytes, value)).second);
      continue;
    }
    auto entry = std::next(held.begin(), random() % held.size());
    const auto [bytes, value] = entry->second;
    ASSERT_EQ(entry->first[0], value);
    ASSERT_EQ(entry->first[bytes - 1], value);
    ASSERT_OK(cudaFree(entry->first));
    held.erase(entry);
  }
  for (const auto& [memory, rest] : held) ASSERT_OK(cudaFree(memory));
}

TEST(Memory, FourThreadsAllocateAndFree) {
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(allocateAndFree, seed);
  for (std::thread& thread : threads) thread.join();
}

// As a GPU's free would wait, memory must outlive the work that was pending.
TEST(Memory, FreeOutlivesPendingWork) {
  constexpr size_t kBytes = 1 << 20;
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* source = nullptr;
  char* destination = nullptr;
  ASSERT_OK(cudaMalloc(&source, kBytes));
  ASSERT_OK(cudaMalloc(&destination, kBytes));
  ASSERT_OK(cudaMemset(source, 9, kBytes));
  ASSERT_OK(cudaMemset(destination, 0, kBytes));
  ASSERT_OK(cudaDeviceSynchronize());
  Gate gate;
  gate.holdBack(stream);
  ASSERT_OK(cudaMemcpyAsync(destination, source, kBytes, cudaMemcpyDeviceToDevice, stream));
  EXPECT_OK(cudaFree(source));  // returns at once
  EXPECT_EQ(cudaFree(source), cudaErrorInvalidValue);
  char* other = nullptr;
  ASSERT_OK(cudaMalloc(&other, kBytes));
  EXPECT_NE(other, source);
  std::memset(other, 1, kBytes);
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(destination[0], 9);
  EXPECT_EQ(destination[kBytes - 1], 9);
  EXPECT_OK(cudaFree(other));
  EXPECT_OK(cudaFree(destination));
  EXPECT_OK(cudaStreamDestroy(stream));
  (void)cudaGetLastError();
}

TEST(Memory, AsyncAllocationAndFree) {
  cudaStream_t stream;
  ASSERT_OK(cudaStreamCreate(&stream));
  char* memory = nullptr;
  ASSERT_OK(cudaMallocAsync(&memory, 5000, stream));
  Gate gate;
  gate.holdBack(stream);
  EXPECT_OK(cudaMemsetAsync(memory, 3, 5000, stream));
  EXPECT_OK(cudaFreeAsync(memory, stream));
  EXPECT_EQ(cudaFreeAsync(memory, stream), cudaErrorInvalidValue);
  EXPECT_EQ(memory[0], memory[0]);  // still mapped
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaStreamDestroy(stream));
  (void)cudaGetLastError();
}

TEST(Memory, CopiesAreChecked) {
  char host[64] = {};
  char* memory = nullptr;
  char* pinned = nullptr;
  ASSERT_OK(cudaMalloc(&memory, 64));
  ASSERT_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocDefault));
  EXPECT_OK(cudaMemcpy(memory, host, 64, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaMemcpy(memory, host, 64, cudaMemcpyDefault));
  EXPECT_OK(cudaMemcpy(pinned, memory, 64, cudaMemcpyDeviceToHost));
  EXPECT_OK(cudaMemcpy(host, pinned, 64, cudaMemcpyHostToHost));
  EXPECT_OK(cudaMemcpyPeer(memory, 0, memory, 1, 64));
  EXPECT_EQ(cudaMemcpy(memory, host, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(memory, host, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, host, 64, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(memory, host, 64, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(host, 0, 64), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeer(memory, 0, memory, -1, 64), cudaErrorInvalidDevice);
  EXPECT_OK(cudaFree(memory));
  EXPECT_EQ(cudaMemcpy(memory, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_OK(cudaFreeHost(pinned));
  (void)cudaGetLastError();
}

cudaPointerAttributes attributesOf(const void* address) {
  cudaPointerAttributes attributes{};
  EXPECT_OK(cudaPointerGetAttributes(&attributes, address));
  return attributes;
}

TEST(Memory, PointerAttributes) {
  char* memory = nullptr;
  char* managed = nullptr;
  char* pinned = nullptr;
  std::vector<char> own(100);
  ASSERT_OK(cudaSetDevice(2));
  ASSERT_OK(cudaMalloc(&memory, 1000));
  ASSERT_OK(cudaMallocManaged(&managed, 1000));
  ASSERT_OK(cudaHostAlloc(&pinned, 1000, cudaHostAllocPortable));
  EXPECT_EQ(attributesOf(own.data()).type, cudaMemoryTypeUnregistered);
  ASSERT_OK(cudaHostRegister(own.data(), own.size(), cudaHostRegisterMapped));
  EXPECT_EQ(cudaHostRegister(own.data() + 50, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_EQ(attributesOf(memory + 999).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributesOf(memory + 999).device, 2);
  EXPECT_EQ(attributesOf(memory + 999).devicePointer, memory + 999);
  EXPECT_EQ(attributesOf(memory + 1000).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributesOf(managed).type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributesOf(pinned + 5).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributesOf(pinned + 5).allocationFlags, unsigned{cudaHostAllocPortable});
  EXPECT_EQ(attributesOf(own.data() + 99).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributesOf(nullptr).type, cudaMemoryTypeUnregistered);
  void* mapped = nullptr;
  EXPECT_OK(cudaHostGetDevicePointer(&mapped, pinned + 5, 0));
  EXPECT_EQ(mapped, pinned + 5);
  EXPECT_OK(cudaHostUnregister(own.data()));
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostGetDevicePointer(&mapped, own.data(), 0), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(memory));
  EXPECT_EQ(attributesOf(memory).type, cudaMemoryTypeUnregistered);
  EXPECT_OK(cudaFree(managed));
  EXPECT_OK(cudaFreeHost(pinned));
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace rondo::emutest
