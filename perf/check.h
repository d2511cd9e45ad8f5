// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How the perf programs fail: UsageError is the user's mistake (exit status 2), found by every process alike, or, as
// LocalUsageError, perhaps by this one alone, which then ends all. Failure is a failed call of the GPU runtime or of
// the collective library (exit status 1, ends all processes). Used by every thread; the thread's main function catches
// them.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "gpu.h"

namespace perf {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LocalUsageError : public UsageError {
 public:
  using UsageError::UsageError;
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void failUsage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

void checkGpu(cudaError_t result, const char* call, const char* file, int line);
void checkNccl(ncclResult_t result, const char* call, const char* file, int line);

}  // namespace perf

#define PERF_GPU(call) ::perf::checkGpu((call), #call, __FILE__, __LINE__)
#define PERF_NCCL(call) ::perf::checkNccl((call), #call, __FILE__, __LINE__)
