// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "small_float.h"

namespace perf {
namespace {

constexpr int64_t kAvgUnits = 2;

uint64_t mix(uint64_t value) {
  for (int round = 0; round < 2; ++round) {
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
  }
  return value ^ value >> 29;
}

uint64_t randomBits(const Recipe& recipe, uint64_t rank, uint64_t index) {
  return mix(mix(recipe.seed * 1000003 + rank) + index);
}

// What the recipes need to know of a type: significand bits, and the largest e with 2^e and 2^-e both normal.
template <class T>
struct Format {
  static constexpr int kBits = std::numeric_limits<T>::digits;
  static constexpr int kExponent = -(std::numeric_limits<T>::min_exponent - 1);
};
template <>
struct Format<Half> {
  static constexpr int kBits = 11;
  static constexpr int kExponent = 14;
};
template <>
struct Format<Bfloat16> {
  static constexpr int kBits = 8;
  static constexpr int kExponent = 126;
};

// A budget (of significand or exponent range) shared among ranks: how much each may take, at least 1. Where there are
// more ranks than the budget has units, only some of them, others for each index, take part.
struct Share {
  uint64_t each;
  bool takes_part;

  Share(uint64_t budget, const Recipe& recipe, uint64_t rank, uint64_t index) {
    const auto ranks = static_cast<uint64_t>(recipe.ranks);
    each = std::max<uint64_t>(budget / ranks, 1);
    takes_part = (rank + index) % ranks < budget;
  }
};

// A whole number from -limit to limit.
int64_t spread(uint64_t bits, uint64_t limit) {
  return static_cast<int64_t>(bits % (2 * limit + 1)) - static_cast<int64_t>(limit);
}

template <class T>
T floatSumInput(const Recipe& recipe, int rank, size_t index) {
  const Share share(uint64_t{1} << Format<T>::kBits, recipe, rank, index);
  const int64_t value = share.takes_part ? spread(randomBits(recipe, rank, index), share.each) : 0;
  return T(static_cast<double>(value));
}

template <class T>
T floatProdInput(const Recipe& recipe, int rank, size_t index) {
  const Share share(Format<T>::kExponent, recipe, rank, index);
  const uint64_t bits = randomBits(recipe, rank, index);
  const int64_t exponent = share.takes_part ? spread(bits >> 1, share.each) : 0;
  return T(std::ldexp(bits & 1 ? -1.0 : 1.0, static_cast<int>(exponent)));
}

template <class T>
T floatAnyInput(const Recipe& recipe, int rank, size_t index) {
  const uint64_t bits = randomBits(recipe, rank, index);
  const int64_t exponent = spread(bits >> 56, std::min(Format<T>::kExponent, 100));
  const int fraction_bits = Format<T>::kBits - 1;
  const uint64_t significand = uint64_t{1} << fraction_bits | (bits & ((uint64_t{1} << fraction_bits) - 1));
  const double value = std::ldexp(static_cast<double>(significand), static_cast<int>(exponent) - fraction_bits);
  return T(bits >> 55 & 1 ? -value : value);
}

// Two ranks, others for each index, contribute x and y > 0, with (x + y) / ranks = 2^e * (1 + 1/16, 1/8 or 1/4): an
// implementation that multiplies by 1/ranks first rounds three times, at most 1.5 parts in 2^bits, which is under 2
// units there. Numbers of ranks that the type holds make the average exact.
template <class T>
T floatAvgInput(const Recipe& recipe, int rank, size_t index) {
  const auto ranks = static_cast<uint64_t>(recipe.ranks);
  const uint64_t bits = randomBits(recipe, ranks, index);
  const int exponent = static_cast<int>(spread(bits >> 8, 3));
  const int minor_exponent = exponent - 4 + static_cast<int>(bits % 3);
  const double major = std::ldexp(static_cast<double>(ranks), exponent);
  const double minor = std::ldexp(static_cast<double>(ranks), minor_exponent);
  if (ranks == 1) return T(major + minor);
  const uint64_t first = index % ranks;
  const uint64_t second = (first + 1 + (bits >> 16) % (ranks - 1)) % ranks;
  if (static_cast<uint64_t>(rank) == first) return T(major);
  return T(static_cast<uint64_t>(rank) == second ? minor : 0.0);
}

template <class T>
T integerAvgInput(const Recipe& recipe, int rank, size_t index) {
  const Share share(static_cast<uint64_t>(std::numeric_limits<T>::max()), recipe, rank, index);
  if (!share.takes_part) return 0;
  const uint64_t bits = randomBits(recipe, rank, index);
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<int64_t>(bits % (share.each + 1)) * (bits >> 63 ? -1 : 1));
  }
  return static_cast<T>(share.each == ~uint64_t{0} ? bits : bits % (share.each + 1));
}

template <class T>
T makeInput(const Recipe& recipe, int rank, size_t index) {
  constexpr bool kInteger = std::is_integral_v<T>;
  switch (recipe.op) {
    case Op::None: {
      const uint64_t bits = randomBits(recipe, rank, index);
      T value;
      std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
      return value;
    }
    case Op::Sum:
      if constexpr (kInteger)
        return static_cast<T>(randomBits(recipe, rank, index));
      else
        return floatSumInput<T>(recipe, rank, index);
    case Op::Prod:
      if constexpr (kInteger)
        return static_cast<T>(randomBits(recipe, rank, index) | 1);
      else
        return floatProdInput<T>(recipe, rank, index);
    case Op::Max:
    case Op::Min:
      if constexpr (kInteger)
        return static_cast<T>(randomBits(recipe, rank, index));
      else
        return floatAnyInput<T>(recipe, rank, index);
    case Op::Avg:
      if constexpr (kInteger)
        return integerAvgInput<T>(recipe, rank, index);
      else
        return floatAvgInput<T>(recipe, rank, index);
  }
  throw std::logic_error("unknown operation");
}

// The type in which the expected result is computed: exact for the inputs above.
template <class T>
using Wide =
    std::conditional_t<!std::is_integral_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// Signed sums and products wrap, which C++ defines for unsigned numbers only.
template <class W>
W addWide(W a, W b) {
  if constexpr (std::is_same_v<W, double>)
    return a + b;
  else
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class W>
W multiplyWide(W a, W b) {
  if constexpr (std::is_same_v<W, double>)
    return a * b;
  else
    return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class W>
W combine(Op op, W a, W b) {
  switch (op) {
    case Op::None:
      break;
    case Op::Sum:
    case Op::Avg:
      return addWide(a, b);
    case Op::Prod:
      return multiplyWide(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::Min:
      return std::min(a, b);
  }
  throw std::logic_error("no reduction");
}

template <class T>
void fillReducedAs(const Recipe& recipe, T* out) {
  using W = Wide<T>;
  for (size_t index = 0; index < kPeriod; ++index) {
    W result = static_cast<W>(makeInput<T>(recipe, 0, index));
    for (int rank = 1; rank < recipe.ranks; ++rank) {
      result = combine(recipe.op, result, static_cast<W>(makeInput<T>(recipe, rank, index)));
    }
    if (recipe.op == Op::Avg) result /= static_cast<W>(recipe.ranks);
    out[index] = static_cast<T>(result);
  }
}

template <class T>
void fillInputAs(const Recipe& recipe, int rank, T* out) {
  for (size_t index = 0; index < kPeriod; ++index) out[index] = makeInput<T>(recipe, rank, index);
}

// Calls visit with a value of the C++ type.
template <class Visit>
void visitType(ncclDataType_t type, Visit visit) {
  switch (static_cast<int>(type)) {
    case ncclInt8:
      return visit(int8_t{});
    case ncclUint8:
      return visit(uint8_t{});
    case ncclInt32:
      return visit(int32_t{});
    case ncclUint32:
      return visit(uint32_t{});
    case ncclInt64:
      return visit(int64_t{});
    case ncclUint64:
      return visit(uint64_t{});
    case ncclFloat16:
      return visit(Half{});
    case ncclFloat32:
      return visit(float{});
    case ncclFloat64:
      return visit(double{});
    case ncclBfloat16:
      return visit(Bfloat16{});
  }
  throw std::logic_error("unknown data type");
}

// Places of a float on the line of all its values, so that neighbours differ by one.
template <class Bits>
int64_t place(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = static_cast<int64_t>(bits & (kSign - 1));
  return bits & kSign ? -magnitude : magnitude;
}

template <class Bits>
size_t countDifferent(const Bits* got, const Bits* expected, size_t count, int64_t units, size_t* first) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (got[i] == expected[i]) continue;
    if (units > 0) {
      // Averages are positive: a result of the other sign or a NaN is far away, and the difference cannot overflow.
      const int64_t a = place(got[i]), b = place(expected[i]);
      if (a >= 0 && std::llabs(a - b) <= units) continue;
    }
    if (wrong++ == 0) *first = i;
  }
  return wrong;
}

}  // namespace

void fillInput(const Recipe& recipe, int rank, void* out) {
  visitType(recipe.type, [&](auto sample) { fillInputAs(recipe, rank, static_cast<decltype(sample)*>(out)); });
}

void fillReduced(const Recipe& recipe, void* out) {
  visitType(recipe.type, [&](auto sample) { fillReducedAs(recipe, static_cast<decltype(sample)*>(out)); });
}

size_t countWrong(const Recipe& recipe, const void* got, const void* expected, size_t count, size_t* first) {
  size_t wrong = 0;
  visitType(recipe.type, [&](auto sample) {
    using T = decltype(sample);
    if (std::memcmp(got, expected, count * sizeof(T)) == 0) return;
    using Bits = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    const int64_t units = recipe.op == Op::Avg && !std::is_integral_v<T> ? kAvgUnits : 0;
    wrong = countDifferent(static_cast<const Bits*>(got), static_cast<const Bits*>(expected), count, units, first);
  });
  return wrong;
}

}  // namespace perf
