// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/collectives/reference.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace rondo::reference {
namespace {

bool isFloat(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclFloat32 || type == ncclFloat64 || type == ncclBfloat16;
}

// Whole numbers for exactness; integers wrap modulo 2^bits as they are stored.
void store(ncclDataType_t type, char* to, int64_t value) {
  const auto put = [to](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (static_cast<int>(type)) {
    case ncclInt8:
    case ncclUint8:
      return put(static_cast<uint8_t>(value));
    case ncclInt32:
    case ncclUint32:
      return put(static_cast<uint32_t>(value));
    case ncclInt64:
    case ncclUint64:
      return put(static_cast<uint64_t>(value));
    case ncclFloat16:
      return put(static_cast<_Float16>(static_cast<float>(value)));
    case ncclFloat32:
      return put(static_cast<float>(value));
    case ncclFloat64:
      return put(static_cast<double>(value));
    case ncclBfloat16:  // exact for the numbers used here: the upper half of a float
      return put(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
  }
}

void storeFloat(ncclDataType_t type, char* to, double value) {
  if (type == ncclFloat64) {
    std::memcpy(to, &value, 8);
  } else if (type == ncclFloat32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, 4);
  } else if (type == ncclFloat16) {
    const auto narrow = static_cast<_Float16>(value);
    std::memcpy(to, &narrow, 2);
  } else {
    const auto narrow = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
    std::memcpy(to, &narrow, 2);
  }
}

// Bits of a float as a number whose difference counts units in the last place (all values here are >= 0).
int64_t unitsOf(ncclDataType_t type, const char* from) {
  int64_t bits = 0;
  std::memcpy(&bits, from, elementBytes(type));
  return bits;
}

bool isUnsigned(ncclDataType_t type) { return type == ncclUint8 || type == ncclUint32 || type == ncclUint64; }

// Rank r's element i, as a whole number.
int64_t element(ncclDataType_t type, ncclRedOp_t op, int rank, size_t i, unsigned seed) {
  const uint64_t mixed = (i + 1) * 2654435761u + static_cast<uint64_t>(rank) * 40503u + seed * 97u;
  const auto small = static_cast<int64_t>((mixed >> 7) % 13);
  switch (static_cast<int>(op)) {
    case ncclProd:
      return 1 + (small & 1);  // 1 or 2: products are powers of two
    case ncclAvg:
      return isFloat(type) ? (rank < 2 ? small : 0) : small - (isUnsigned(type) ? 0 : 6);
    case ncclSum:
      return small;
    default:
      return isUnsigned(type) ? small : small - 6;
  }
}

}  // namespace

size_t elementBytes(ncclDataType_t type) {
  switch (static_cast<int>(type)) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
  }
  return 8;
}

std::vector<char> input(ncclDataType_t type, ncclRedOp_t op, int rank, size_t count, unsigned seed) {
  const size_t bytes = elementBytes(type);
  std::vector<char> content(count * bytes);
  for (size_t i = 0; i < count; ++i) store(type, content.data() + i * bytes, element(type, op, rank, i, seed));
  return content;
}

std::vector<char> reduced(ncclDataType_t type, ncclRedOp_t op, int ranks, size_t count, unsigned seed) {
  const size_t bytes = elementBytes(type);
  std::vector<char> content(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    int64_t value = element(type, op, 0, i, seed);
    for (int rank = 1; rank < ranks; ++rank) {
      const int64_t other = element(type, op, rank, i, seed);
      switch (static_cast<int>(op)) {
        case ncclProd:
          value *= other;
          break;
        case ncclMax:
          value = other > value ? other : value;
          break;
        case ncclMin:
          value = other < value ? other : value;
          break;
        default:
          value += other;
      }
    }
    if (op == ncclAvg && isFloat(type)) {
      storeFloat(type, content.data() + i * bytes, static_cast<double>(value) / ranks);
    } else {
      store(type, content.data() + i * bytes, op == ncclAvg ? value / ranks : value);
    }
  }
  return content;
}

std::string compare(ncclDataType_t type, ncclRedOp_t op, const std::vector<char>& got, const std::vector<char>& wanted) {
  const size_t bytes = elementBytes(type);
  const int64_t tolerance = op == ncclAvg && isFloat(type) ? 2 : 0;
  for (size_t i = 0; i * bytes < wanted.size(); ++i) {
    const int64_t a = unitsOf(type, got.data() + i * bytes);
    const int64_t b = unitsOf(type, wanted.data() + i * bytes);
    const int64_t distance = a > b ? a - b : b - a;
    if (distance > tolerance) {
      return "type " + std::to_string(type) + " op " + std::to_string(op) + " element " + std::to_string(i) + " of " +
             std::to_string(wanted.size() / bytes) + ": bits " + std::to_string(a) + ", wanted " + std::to_string(b);
    }
  }
  return {};
}

}  // namespace rondo::reference
