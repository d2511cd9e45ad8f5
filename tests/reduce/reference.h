// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What copy and reduce must yield, computed element by element on the host by other means than the library's: numbers
// are decoded to double with ldexp and rounded with nearbyint; integers are computed in 128 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "device/shared/types.h"

namespace rondo::reference {

inline bool isFloating(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64 ||
         type == DataType::kBfloat16;
}
inline bool isSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

// Precision with the hidden bit, exponent of the least normal number, exponent bits.
struct Shape {
  int precision;
  int leastExponent;
  int exponentBits;
};
inline Shape shapeOf(DataType type) {
  if (type == DataType::kFloat16) return {11, -14, 5};
  if (type == DataType::kBfloat16) return {8, -126, 8};
  if (type == DataType::kFloat32) return {24, -126, 8};
  return {53, -1022, 11};
}

inline double decode(DataType type, uint64_t bits) {
  const Shape shape = shapeOf(type);
  const int fractionBits = shape.precision - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << fractionBits) - 1);
  const int exponent = static_cast<int>((bits >> fractionBits) & ((1u << shape.exponentBits) - 1));
  const double sign = ((bits >> (fractionBits + shape.exponentBits)) & 1) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << shape.exponentBits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int unit = shape.leastExponent - fractionBits;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), unit);
  return sign * std::ldexp(static_cast<double>(fraction | (uint64_t{1} << fractionBits)), unit + exponent - 1);
}

// To nearest, ties to even (nearbyint in the default mode); NaN gives the canonical one.
inline uint64_t encode(DataType type, double value) {
  const Shape shape = shapeOf(type);
  const int fractionBits = shape.precision - 1;
  const uint64_t infinity = ((uint64_t{1} << shape.exponentBits) - 1) << fractionBits;
  if (std::isnan(value)) return infinity | (uint64_t{1} << (fractionBits - 1));
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (fractionBits + shape.exponentBits) : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), shape.leastExponent);
  const double units = std::nearbyint(std::ldexp(magnitude, fractionBits - exponent));
  // Counting units from the least normal exponent on carries from the fraction into the exponent field by itself.
  const uint64_t bits =
      (static_cast<uint64_t>(exponent - shape.leastExponent) << fractionBits) + static_cast<uint64_t>(units);
  return sign | std::min(bits, infinity);
}

inline uint64_t prepare(const Reduction& reduction, uint64_t own) {
  if (reduction.op != RedOp::kAvg || !isFloating(reduction.type)) return own;
  const uint64_t factor = encode(reduction.type, 1.0 / reduction.ranks);
  return encode(reduction.type, decode(reduction.type, own) * decode(reduction.type, factor));
}

inline uint64_t combineFloating(const Reduction& reduction, uint64_t received, uint64_t own) {
  const double a = decode(reduction.type, received);
  const double b = decode(reduction.type, own);
  const bool ownIsLess = b < a || (a == b && std::signbit(b) && !std::signbit(a));
  switch (reduction.op) {
    case RedOp::kSum:
    case RedOp::kAvg:
      return encode(reduction.type, a + b);
    case RedOp::kProd:
      return encode(reduction.type, a * b);
    case RedOp::kMax:
      if (std::isnan(a) || std::isnan(b)) return encode(reduction.type, a + b);
      return ownIsLess ? received : own;
    case RedOp::kMin:
      if (std::isnan(a) || std::isnan(b)) return encode(reduction.type, a + b);
      return ownIsLess ? own : received;
  }
  return 0;
}

inline __int128 integerValue(DataType type, uint64_t bits) {
  const int width = static_cast<int>(8 * elementBytes(type));
  const __int128 value = bits;
  const bool negative = isSigned(type) && ((bits >> (width - 1)) & 1) != 0;
  return negative ? value - (static_cast<__int128>(1) << width) : value;
}

inline uint64_t wrapped(DataType type, unsigned __int128 value) {
  const int width = static_cast<int>(8 * elementBytes(type));
  return static_cast<uint64_t>(value) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

inline uint64_t combineInteger(const Reduction& reduction, uint64_t received, uint64_t own, bool last) {
  const DataType type = reduction.type;
  const __int128 a = integerValue(type, received);
  const __int128 b = integerValue(type, own);
  const uint64_t sum = wrapped(type, static_cast<unsigned __int128>(a) + static_cast<unsigned __int128>(b));
  switch (reduction.op) {
    case RedOp::kSum:
      return sum;
    case RedOp::kProd:
      return wrapped(type, static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case RedOp::kMax:
      return a < b ? own : received;
    case RedOp::kMin:
      return b < a ? own : received;
    case RedOp::kAvg:
      return last ? wrapped(type, static_cast<unsigned __int128>(integerValue(type, sum) / reduction.ranks)) : sum;
  }
  return 0;
}

inline uint64_t reduce(const Reduction& reduction, uint64_t received, uint64_t own, bool last) {
  if (!isFloating(reduction.type)) return combineInteger(reduction, received, own, last);
  return combineFloating(reduction, received, prepare(reduction, own));
}

inline uint64_t loadElement(const char* from, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, from, bytes);
  return bits;
}

}  // namespace rondo::reference
