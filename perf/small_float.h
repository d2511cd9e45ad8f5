// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The 16-bit floating types on the host: half (IEEE binary16) and bfloat16, by their bits. Pure functions, any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace perf {

// Rounds to nearest, ties to even; too large becomes infinity.
template <int kFractionBits, int kExponentBits>
constexpr uint16_t encodeSmallFloat(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int wide_exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const uint16_t infinity = static_cast<uint16_t>(((1 << kExponentBits) - 1) << kFractionBits);
  if (wide_exponent == 0x7ff) return sign | infinity | (fraction ? 1 << (kFractionBits - 1) : 0);
  if (wide_exponent == 0) return sign;  // zero, and numbers far below the smallest of either type
  const int exponent = wide_exponent - 1023;
  if (exponent > kBias) return sign | infinity;
  const bool normal = exponent >= 1 - kBias;
  const int shift = 52 - kFractionBits + (normal ? 0 : 1 - kBias - exponent);
  if (shift > 53) return sign;
  const uint64_t significand = fraction | uint64_t{1} << 52;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t tie = uint64_t{1} << (shift - 1);
  uint64_t kept = significand >> shift;
  if (rest > tie || (rest == tie && (kept & 1))) ++kept;
  // The leading bit of a normal number adds one to the exponent field, and so does a carry out of the rounding.
  const uint64_t field = normal ? static_cast<uint64_t>(exponent + kBias - 1) << kFractionBits : 0;
  return static_cast<uint16_t>(sign | (field + kept));
}

template <int kFractionBits, int kExponentBits>
constexpr double decodeSmallFloat(uint16_t bits) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  const uint64_t sign = static_cast<uint64_t>(bits >> 15) << 63;
  const int exponent = bits >> kFractionBits & ((1 << kExponentBits) - 1);
  const uint64_t fraction = bits & ((1 << kFractionBits) - 1);
  if (exponent == 0) {
    const double unit = std::bit_cast<double>(static_cast<uint64_t>(1023 + 1 - kBias - kFractionBits) << 52);
    const double magnitude = static_cast<double>(fraction) * unit;
    return sign ? -magnitude : magnitude;
  }
  const int wide_exponent = exponent == (1 << kExponentBits) - 1 ? 0x7ff : exponent - kBias + 1023;
  return std::bit_cast<double>(sign | static_cast<uint64_t>(wide_exponent) << 52 | fraction << (52 - kFractionBits));
}

template <int kFractionBits, int kExponentBits>
struct SmallFloat {
  uint16_t bits = 0;

  SmallFloat() = default;
  explicit constexpr SmallFloat(double value) : bits(encodeSmallFloat<kFractionBits, kExponentBits>(value)) {}
  explicit constexpr operator double() const { return decodeSmallFloat<kFractionBits, kExponentBits>(bits); }
};

using Half = SmallFloat<10, 5>;
using Bfloat16 = SmallFloat<7, 8>;

}  // namespace perf
