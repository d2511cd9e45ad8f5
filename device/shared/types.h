// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Data types, reduction operators and collective kinds as kernels see them. The values are those of the public API
// (checked in src/api), so that a call's arguments are copied, not translated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

enum class DataType : uint32_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9
};

enum class RedOp : uint32_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };

enum class CollectiveKind : uint32_t { kBroadcast = 0, kAllReduce = 1 };

// How the elements of a call are combined. ranks is the divisor of kAvg.
struct Reduction {
  DataType type;
  RedOp op;
  uint32_t ranks;
};

#if defined(__CUDACC__) || defined(__HIPCC__)
#define RONDO_HOST_DEVICE __host__ __device__
#else
#define RONDO_HOST_DEVICE
#endif

RONDO_HOST_DEVICE constexpr size_t elementBytes(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64:
      return 8;
  }
  return 0;
}

}  // namespace rondo
