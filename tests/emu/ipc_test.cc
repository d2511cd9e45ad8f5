// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <dirent.h>
#include <signal.h>

#include <cstring>
#include <set>
#include <string>

#include "tests/emu/support.h"

namespace rondo::emutest {
namespace {

constexpr int kPatience_ms = 20000;

TEST(Ipc, BothSidesSeeEachOthersWrites) {
  Child lender({"lend"});
  cudaIpcMemHandle_t handle;
  ASSERT_TRUE(lender.read(&handle, sizeof handle));
  unsigned char* memory = nullptr;
  void* address = nullptr;
  ASSERT_OK(cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess));
  memory = static_cast<unsigned char*>(address);
  for (int i = 0; i < 512; ++i) ASSERT_EQ(memory[i], 0x5a) << i;
  cudaPointerAttributes attributes;
  EXPECT_OK(cudaPointerGetAttributes(&attributes, memory + 511));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_OK(cudaPointerGetAttributes(&attributes, memory + 512));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaMemset(memory, 0, 513), cudaErrorInvalidValue);
  EXPECT_OK(cudaMemset(memory, 0xa5, 512));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_TRUE(lender.write("", 1));
  EXPECT_EQ(lender.wait(kPatience_ms), 0);
  EXPECT_EQ(memory[0], 0xa5);  // the mapping outlives the lender
  EXPECT_OK(cudaIpcCloseMemHandle(memory));
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

TEST(Ipc, OpenedTwiceIsOneMapping) {
  Child lender({"lend-for-ever"});
  cudaIpcMemHandle_t handle;
  ASSERT_TRUE(lender.read(&handle, sizeof handle));
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_OK(cudaIpcOpenMemHandle(&first, handle, 0));
  ASSERT_OK(cudaIpcOpenMemHandle(&second, handle, 0));
  EXPECT_EQ(first, second);
  EXPECT_OK(cudaIpcCloseMemHandle(first));
  EXPECT_EQ(*static_cast<unsigned char*>(second), 0x5a);
  EXPECT_OK(cudaIpcCloseMemHandle(second));
}

TEST(Ipc, KilledLender) {
  Child lender({"lend-for-ever"});
  cudaIpcMemHandle_t handle;
  ASSERT_TRUE(lender.read(&handle, sizeof handle));
  void* memory = nullptr;
  ASSERT_OK(cudaIpcOpenMemHandle(&memory, handle, 0));
  lender.kill(SIGKILL);
  EXPECT_EQ(lender.wait(kPatience_ms), 128 + SIGKILL);
  EXPECT_EQ(*static_cast<unsigned char*>(memory), 0x5a);  // what is mapped stays
  EXPECT_OK(cudaIpcCloseMemHandle(memory));
  EXPECT_EQ(cudaIpcOpenMemHandle(&memory, handle, 0), cudaErrorMapBufferObjectFailed);
  EXPECT_NE(std::string(rondoEmuErrorDetail()).find("is gone"), std::string::npos) << rondoEmuErrorDetail();
  (void)cudaGetLastError();
}

std::set<std::string> namesIn(const char* folder) {
  std::set<std::string> names;
  DIR* directory = opendir(folder);
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    if (std::string(entry->d_name).find("rondo") != std::string::npos) names.insert(entry->d_name);
  }
  closedir(directory);
  return names;
}

TEST(Ipc, KilledProcessLeavesNothing) {
  const auto shm = namesIn("/dev/shm");
  const auto tmp = namesIn("/tmp");
  Child lender({"lend-for-ever"});
  cudaIpcMemHandle_t handle;
  ASSERT_TRUE(lender.read(&handle, sizeof handle));
  lender.kill(SIGKILL);
  EXPECT_EQ(lender.wait(kPatience_ms), 128 + SIGKILL);
  EXPECT_EQ(namesIn("/dev/shm"), shm);
  EXPECT_EQ(namesIn("/tmp"), tmp);
}

TEST(Ipc, WrongHandles) {
  void* memory = nullptr;
  cudaIpcMemHandle_t handle;
  std::memset(&handle, 0, sizeof handle);
  EXPECT_EQ(cudaIpcOpenMemHandle(&memory, handle, 0), cudaErrorInvalidResourceHandle);
  char* own = nullptr;
  ASSERT_OK(cudaMalloc(&own, 1000));
  ASSERT_OK(cudaIpcGetMemHandle(&handle, own + 500));
  for (size_t i = 0; i < sizeof handle; ++i) {
    cudaIpcMemHandle_t mangled = handle;
    mangled.reserved[i] = static_cast<char>(mangled.reserved[i] ^ 0x40);
    const cudaError_t code = cudaIpcOpenMemHandle(&memory, mangled, 0);
    EXPECT_EQ(code, cudaErrorInvalidResourceHandle) << i;
  }
  int local = 0;
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, &local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(own), cudaErrorInvalidValue);
  EXPECT_OK(cudaFree(own));
  (void)cudaGetLastError();
}

TEST(Ipc, OwnHandleGivesTheAllocation) {
  char* own = nullptr;
  ASSERT_OK(cudaMalloc(&own, 1000));
  cudaIpcMemHandle_t handle;
  ASSERT_OK(cudaIpcGetMemHandle(&handle, own + 500));
  void* memory = nullptr;
  ASSERT_OK(cudaIpcOpenMemHandle(&memory, handle, 0));
  EXPECT_EQ(memory, own);
  EXPECT_OK(cudaIpcCloseMemHandle(memory));
  EXPECT_OK(cudaFree(own));
  EXPECT_EQ(cudaIpcOpenMemHandle(&memory, handle, 0), cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace rondo::emutest
