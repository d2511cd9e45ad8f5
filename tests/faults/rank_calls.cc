// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "rank_calls.h"

#include <filesystem>
#include <iterator>
#include <vector>

namespace rondo::test {

void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw CallFailed(result, std::string(call) + ": " + ncclGetErrorString(result) + ": " + ncclGetLastError(nullptr));
}

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

void checkSum(ncclComm_t comm, int rank, int ranks, size_t count) {
  std::vector<float> values(count);
  const auto value = [](int of, size_t i) { return static_cast<float>(of + 1) * static_cast<float>(i % 100 + 1); };
  for (size_t i = 0; i < count; ++i) values[i] = value(rank, i);
  float* data = nullptr;
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(float)), "cudaMalloc");
  check(cudaMemcpy(data, values.data(), count * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  check(ncclAllReduce(data, data, count, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  check(state, "ncclAllReduce (asynchronous error)");
  check(cudaMemcpy(values.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  check(cudaFree(data), "cudaFree");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int of = 0; of < ranks; ++of) sum += value(of, i);
    if (values[i] != sum) throw std::runtime_error("wrong sum at " + std::to_string(i));
  }
}

int countDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<int>(std::distance(begin(entries), end(entries))) - 1;  // without the one that looks
}

}  // namespace rondo::test
