// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The arithmetic of reductions: number formats and the combiners made of them. An element travels as its bits, an
// unsigned integer of its size; a combiner maps two elements' bits to the result's bits. Stateless values, used by the
// lanes of worker waves. What each combiner yields is documented in reduce.h; the bits are the same on every device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/arch/arch.h"
#include "device/arch/compute.h"

namespace rondo {

// --- formats: Bits is what lies in memory, Value what is computed with

template <class T>
struct IntegerFormat {
  using Bits = std::make_unsigned_t<T>;
  using Value = T;
  static constexpr bool kFloating = false;
  static RONDO_DEVICE T decode(Bits bits) { return static_cast<T>(bits); }
  static RONDO_DEVICE Bits encode(T value) { return static_cast<Bits>(value); }
};

struct Float32Format {
  using Bits = uint32_t;
  using Value = float;
  static constexpr bool kFloating = true;
  static constexpr Bits kInfinity = 0x7f800000u;
  static constexpr Bits kNan = 0x7fc00000u;
  static RONDO_DEVICE float decode(Bits bits) { return __builtin_bit_cast(float, bits); }
  static RONDO_DEVICE Bits encode(float value) {
    return arch::select(value != value, kNan, __builtin_bit_cast(Bits, value));
  }
};

struct Float64Format {
  using Bits = uint64_t;
  using Value = double;
  static constexpr bool kFloating = true;
  static constexpr Bits kInfinity = 0x7ff0000000000000u;
  static constexpr Bits kNan = 0x7ff8000000000000u;
  static RONDO_DEVICE double decode(Bits bits) { return __builtin_bit_cast(double, bits); }
  static RONDO_DEVICE Bits encode(double value) {
    return arch::select(value != value, kNan, __builtin_bit_cast(Bits, value));
  }
};

// The 16-bit formats compute in float. One operation on two of their values, rounded to float and then to 16 bits, is
// rounded as if once: float has more than twice their precision.
struct Float16Format {
  using Bits = uint16_t;
  using Value = float;
  static constexpr bool kFloating = true;
  static constexpr Bits kInfinity = 0x7c00u;
  static constexpr Bits kNan = 0x7e00u;
  static RONDO_DEVICE float decode(Bits bits) { return arch::halfToFloat(bits); }
  static RONDO_DEVICE Bits encode(float value) {
    return static_cast<Bits>(arch::select<uint32_t>(value != value, kNan, arch::floatToHalf(value)));
  }
};

struct Bfloat16Format {
  using Bits = uint16_t;
  using Value = float;
  static constexpr bool kFloating = true;
  static constexpr Bits kInfinity = 0x7f80u;
  static constexpr Bits kNan = 0x7fc0u;
  static RONDO_DEVICE float decode(Bits bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
  static RONDO_DEVICE Bits encode(float value) {
    return static_cast<Bits>(arch::select<uint32_t>(value != value, kNan, arch::floatToBfloat16(value)));
  }
};

// --- combiners. kCostly: an element takes so long that loading ahead gains nothing.

// Integer sums and products wrap. Instantiated for unsigned formats only: the signed result has the same bits.
template <class Format>
struct Sum {
  using Bits = typename Format::Bits;
  static constexpr bool kCostly = false;
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const {
    return Format::encode(static_cast<typename Format::Value>(Format::decode(received) + Format::decode(own)));
  }
};

template <class Format>
struct Product {
  using Bits = typename Format::Bits;
  static constexpr bool kCostly = false;
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const {
    return Format::encode(static_cast<typename Format::Value>(Format::decode(received) * Format::decode(own)));
  }
};

// kGreatest: maximum, else minimum. Integers.
template <class Format, bool kGreatest>
struct Extreme {
  using Bits = typename Format::Bits;
  static constexpr bool kCostly = false;
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const {
    const bool less = Format::decode(received) < Format::decode(own);
    return less == kGreatest ? own : received;
  }
};

// Floating types, by their bits alone: with the magnitude of negative numbers inverted they are ordered as signed
// integers, -0 before +0.
template <class Format, bool kGreatest>
struct FloatExtreme {
  using Bits = typename Format::Bits;
  static constexpr bool kCostly = false;
  using Key = std::make_signed_t<Bits>;
  static constexpr Key kMagnitude = static_cast<Key>(static_cast<Bits>(~Bits{0}) >> 1);

  static RONDO_DEVICE Key key(Bits bits) {
    const Key value = static_cast<Key>(bits);
    return static_cast<Key>(value ^ ((value >> (8 * sizeof(Bits) - 1)) & kMagnitude));
  }
  static RONDO_DEVICE bool isNan(Bits bits) {
    return static_cast<Key>(bits & kMagnitude) > static_cast<Key>(Format::kInfinity);
  }
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const {
    const Bits extreme = arch::select((key(received) < key(own)) == kGreatest, own, received);
    return arch::select(isNan(received) || isNan(own), Format::kNan, extreme);
  }
};

// One contribution to a floating average: the element times 1/ranks, both rounded to the format.
template <class Format>
struct Scale {
  using Bits = typename Format::Bits;
  using Value = typename Format::Value;
  Value factor;

  // The quotient is formed in double and rounded down in steps: with double's precision the result is the nearest.
  RONDO_DEVICE explicit Scale(uint32_t ranks)
      : factor(Format::decode(Format::encode(static_cast<Value>(1.0 / static_cast<double>(ranks))))) {}
  RONDO_DEVICE Bits operator()(Bits own) const {
    return Format::encode(arch::multiplyRounded(Format::decode(own), factor));
  }
};

template <class Format>
struct ScaledSum {
  using Bits = typename Format::Bits;
  static constexpr bool kCostly = false;
  Scale<Format> scale;
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const { return Sum<Format>()(received, scale(own)); }
};

// The last sum of an integer average: wraps, then is read in the format's sign and divided, truncating toward zero. The
// magnitude is what is divided, since the number of ranks need not fit a small signed type. Written with unsigned numbers
// of 32 or 64 bits throughout: nvcc 13.0 compiled the sign test of a wrapped int8 sum wrongly for the first element of a
// 16-byte pack (found by reduce_test on an H200).
template <class Format>
struct DividedSum {
  using Bits = typename Format::Bits;
  using Wide = std::conditional_t<sizeof(Bits) == 8, uint64_t, uint32_t>;
  static constexpr bool kCostly = true;
  static constexpr Wide kMask = static_cast<Bits>(~Bits{0});
  static constexpr Wide kSign = std::is_signed_v<typename Format::Value> ? (kMask >> 1) + 1 : 0;
  uint32_t ranks;

  RONDO_DEVICE Bits operator()(Bits received, Bits own) const {
    const Wide sum = (static_cast<Wide>(received) + static_cast<Wide>(own)) & kMask;
    const bool negative = (sum & kSign) != 0;
    const Wide magnitude = negative ? (Wide{0} - sum) & kMask : sum;
    const Wide quotient = magnitude / ranks;
    return static_cast<Bits>(negative ? Wide{0} - quotient : quotient);
  }
};

}  // namespace rondo
