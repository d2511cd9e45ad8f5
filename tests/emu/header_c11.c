// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The emulated runtime's headers as C11: compiles without a warning.
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <hip/hip_runtime.h>
#include <hip/hip_runtime_api.h>

int rondoTestHeaderC11(void);

int rondoTestHeaderC11(void) {
  void* memory = NULL;
  cudaStream_t stream = cudaStreamPerThread;
  hipStream_t hipStream = hipStreamPerThread;
  hipPointerAttribute_t attributes;
  hipError_t code = hipMalloc(&memory, 16);
  if (code != hipSuccess) return 1;
  if (cudaMemsetAsync(memory, 0, 16, stream) != cudaSuccess) return 2;
  if (hipStreamSynchronize(hipStream) != hipSuccess) return 3;
  if (hipPointerGetAttributes(&attributes, memory) != hipSuccess || attributes.type != hipMemoryTypeDevice) return 4;
  return cudaFree(memory) == cudaSuccess ? 0 : 5;
}
