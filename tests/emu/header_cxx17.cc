// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The emulated runtime's headers as C++17: compiles without a warning, and the typed forms are there.
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <hip/hip_runtime.h>
#include <hip/hip_runtime_api.h>

static_assert(sizeof(hipPointerAttribute_t) == sizeof(cudaPointerAttributes));
static_assert(sizeof(hipError_t) == sizeof(cudaError_t));

extern "C" int rondoTestHeaderCxx17() {
  float* numbers = nullptr;
  double* pinned = nullptr;
  if (cudaMalloc(&numbers, 4 * sizeof(float)) != cudaSuccess) return 1;
  if (hipHostMalloc(&pinned, 32) != hipSuccess) return 2;
  if (hipMemcpyAsync(numbers, pinned, 16, hipMemcpyHostToDevice) != hipSuccess) return 3;
  if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  if (hipFree(numbers) != hipSuccess) return 5;
  return cudaFreeHost(pinned) == cudaSuccess ? 0 : 6;
}
