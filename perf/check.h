// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The results of calls of the GPU runtime and of the collective library: a failed one throws Failure, with the call and
// its place. Used by every thread.
#pragma once

#include "error.h"
#include "gpu.h"

namespace perf {

void checkGpu(cudaError_t result, const char* call, const char* file, int line);
void checkNccl(ncclResult_t result, const char* call, const char* file, int line);

}  // namespace perf

#define PERF_GPU(call) ::perf::checkGpu((call), #call, __FILE__, __LINE__)
#define PERF_NCCL(call) ::perf::checkNccl((call), #call, __FILE__, __LINE__)
