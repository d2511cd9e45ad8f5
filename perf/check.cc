// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "check.h"

#include <cstring>

namespace perf {
namespace {

const char* baseName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

}  // namespace

void checkGpu(cudaError_t result, const char* call, const char* file, int line) {
  if (result == cudaSuccess) return;
  throw Failure(fmt::format("{}:{}: {}: {} ({})", baseName(file), line, call, cudaGetErrorString(result),
                            cudaGetErrorName(result)));
}

void checkNccl(ncclResult_t result, const char* call, const char* file, int line) {
  if (result == ncclSuccess) return;
  const char* last = ncclGetLastError(nullptr);
  throw Failure(fmt::format("{}:{}: {}: {} / {}", baseName(file), line, call, ncclGetErrorString(result),
                            last && *last ? last : "no further text"));
}

}  // namespace perf
