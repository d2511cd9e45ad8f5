// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device_memory.h"

#include "check.h"

namespace perf {

void DeviceMemory::fill(char* to, int byte, size_t bytes) {
  PERF_GPU(cudaSetDevice(rank_.device));
  PERF_GPU(cudaMemsetAsync(to, byte, bytes, rank_.stream));
}

void DeviceMemory::put(char* to, const char* from, size_t bytes) {
  PERF_GPU(cudaSetDevice(rank_.device));
  PERF_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, rank_.stream));
}

void DeviceMemory::get(char* to, const char* from, size_t bytes) {
  PERF_GPU(cudaSetDevice(rank_.device));
  PERF_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, rank_.stream));
  PERF_GPU(cudaStreamSynchronize(rank_.stream));
}

}  // namespace perf
