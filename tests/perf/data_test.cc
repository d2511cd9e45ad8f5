// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "small_float.h"

namespace perf {
namespace {

// The last one exceeds the significand of bfloat16 and the range of int8.
const int kRankCounts[] = {1, 2, 3, 8, 13, 300};

TEST(SmallFloat, SurvivesDecodingAndEncoding) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double h = decodeSmallFloat<10, 5>(half), b = decodeSmallFloat<7, 8>(half);
    if (!std::isnan(h)) {
      ASSERT_EQ(Half(h).bits, half);
    }
    // bfloat16's subnormals are normal doubles, so all of them survive.
    if (!std::isnan(b)) {
      ASSERT_EQ(Bfloat16(b).bits, half);
    }
    ASSERT_EQ(std::isnan(h), std::isnan(double(Half(h))));
  }
}

TEST(SmallFloat, AgreesWithTheCompilersHalf) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    // Floats: the compiler's conversion from double may go through float and round twice.
    const float value =
        std::ldexp(static_cast<float>(static_cast<int32_t>(random())), static_cast<int>(random() % 60) - 60);
    const _Float16 expected = static_cast<_Float16>(value);
    uint16_t bits;
    std::memcpy(&bits, &expected, 2);
    ASSERT_EQ(Half(value).bits, bits) << value;
  }
}

TEST(SmallFloat, RoundsTiesToEven) {
  EXPECT_EQ(double(Half(2049.0)), 2048.0);
  EXPECT_EQ(double(Half(2051.0)), 2052.0);
  EXPECT_EQ(double(Half(65519.0)), 65504.0);
  EXPECT_TRUE(std::isinf(double(Half(65520.0))));
  EXPECT_EQ(double(Bfloat16(257.0)), 256.0);
  EXPECT_EQ(double(Bfloat16(259.0)), 260.0);
  EXPECT_EQ(double(Half(std::ldexp(1.0, -25))), 0.0);
  EXPECT_EQ(double(Half(std::ldexp(1.5, -25))), std::ldexp(1.0, -24));
}

// A reduction that rounds to T after each step, in the order given.
template <class T, class Step>
std::vector<T> reduceStepwise(const Recipe& recipe, const std::vector<int>& order, Step step) {
  std::vector<T> result(kPeriod), input(kPeriod);
  fillInput(recipe, order[0], result.data());
  for (size_t r = 1; r < order.size(); ++r) {
    fillInput(recipe, order[r], input.data());
    for (size_t i = 0; i < kPeriod; ++i) result[i] = step(result[i], input[i]);
  }
  return result;
}

std::vector<std::vector<int>> someOrders(int ranks) {
  std::vector<int> order;
  for (int r = 0; r < ranks; ++r) order.push_back(r);
  std::vector<std::vector<int>> orders = {{order.rbegin(), order.rend()}};
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  orders.push_back(order);
  return orders;
}

template <class T>
T apply(Op op, T a, T b) {
  using W = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  if (op == Op::Sum) return T(W(a) + W(b));
  if (op == Op::Prod) return T(W(a) * W(b));
  if constexpr (std::is_integral_v<T>)
    return op == Op::Max ? std::max(a, b) : std::min(a, b);
  else
    return T(op == Op::Max ? std::max(double(a), double(b)) : std::min(double(a), double(b)));
}

template <class T>
void expectExact(ncclDataType_t type) {
  std::vector<T> expected(kPeriod);
  for (const int ranks : kRankCounts) {
    for (const Op op : {Op::Sum, Op::Prod, Op::Max, Op::Min}) {
      const Recipe recipe{type, op, ranks, 3};
      fillReduced(recipe, expected.data());
      for (const auto& order : someOrders(ranks)) {
        const auto got = reduceStepwise<T>(recipe, order, [op](T a, T b) { return apply(op, a, b); });
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), kPeriod * sizeof(T)), 0)
            << "type " << type << " op " << static_cast<int>(op) << " ranks " << ranks;
      }
    }
  }
}

TEST(Data, IsExactInAnyOrder) {
  expectExact<int8_t>(ncclInt8);
  expectExact<uint8_t>(ncclUint8);
  expectExact<int32_t>(ncclInt32);
  expectExact<uint32_t>(ncclUint32);
  expectExact<int64_t>(ncclInt64);
  expectExact<uint64_t>(ncclUint64);
  expectExact<Half>(ncclFloat16);
  expectExact<Bfloat16>(ncclBfloat16);
  expectExact<float>(ncclFloat32);
  expectExact<double>(ncclFloat64);
}

// The harshest way to average: 1/ranks, each product and each sum rounded to the type.
template <class T>
void expectAverageWithinTolerance(ncclDataType_t type) {
  std::vector<T> expected(kPeriod), scaled(kPeriod), sum(kPeriod);
  for (const int ranks : kRankCounts) {
    const Recipe recipe{type, Op::Avg, ranks, 5};
    fillReduced(recipe, expected.data());
    std::fill(sum.begin(), sum.end(), T(0.0));
    const T factor(1.0 / ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      fillInput(recipe, rank, scaled.data());
      for (size_t i = 0; i < kPeriod; ++i) {
        sum[i] = T(double(sum[i]) + double(T(double(scaled[i]) * double(factor))));
      }
    }
    size_t first = 0;
    ASSERT_EQ(countWrong(recipe, sum.data(), expected.data(), kPeriod, &first), 0u) << "ranks " << ranks;
    for (const T& value : expected) ASSERT_GT(double(value), 0.0);
  }
}

TEST(Data, AverageStaysWithinTwoUnits) {
  expectAverageWithinTolerance<Half>(ncclFloat16);
  expectAverageWithinTolerance<Bfloat16>(ncclBfloat16);
  expectAverageWithinTolerance<float>(ncclFloat32);
  expectAverageWithinTolerance<double>(ncclFloat64);
}

template <class T>
void expectIntegerAverage(ncclDataType_t type) {
  std::vector<T> expected(kPeriod), input(kPeriod);
  for (const int ranks : kRankCounts) {
    const Recipe recipe{type, Op::Avg, ranks, 5};
    fillReduced(recipe, expected.data());
    std::vector<__int128> sum(kPeriod, 0);
    bool any = false;
    for (int rank = 0; rank < ranks; ++rank) {
      fillInput(recipe, rank, input.data());
      for (size_t i = 0; i < kPeriod; ++i) sum[i] += input[i], any |= input[i] != 0;
    }
    ASSERT_TRUE(any);
    for (size_t i = 0; i < kPeriod; ++i) {
      ASSERT_EQ(sum[i], static_cast<__int128>(static_cast<T>(sum[i]))) << "the sum must not wrap";
      ASSERT_EQ(expected[i], static_cast<T>(sum[i] / ranks));
    }
  }
}

TEST(Data, IntegerAverageDoesNotWrap) {
  expectIntegerAverage<int8_t>(ncclInt8);
  expectIntegerAverage<uint8_t>(ncclUint8);
  expectIntegerAverage<int32_t>(ncclInt32);
  expectIntegerAverage<uint64_t>(ncclUint64);
  expectIntegerAverage<int64_t>(ncclInt64);
}

TEST(Data, CountsWrongElements) {
  const Recipe sum{ncclFloat32, Op::Sum, 4, 0};
  std::vector<float> expected(kPeriod);
  fillReduced(sum, expected.data());
  std::vector<float> got = expected;
  size_t first = 0;
  EXPECT_EQ(countWrong(sum, got.data(), expected.data(), kPeriod, &first), 0u);
  got[17] = std::nextafter(got[17], 1e9f);
  got[90] = -got[90] + 1;
  EXPECT_EQ(countWrong(sum, got.data(), expected.data(), kPeriod, &first), 2u);
  EXPECT_EQ(first, 17u);
}

TEST(Data, ToleratesTwoUnitsOfAnAverageOnly) {
  const Recipe average{ncclFloat32, Op::Avg, 3, 0};
  std::vector<float> expected(kPeriod);
  fillReduced(average, expected.data());
  std::vector<float> got = expected;
  size_t first = 0;
  for (const int units : {1, 2, 3}) {
    got[5] = std::nextafter(got[5], 1e9f);
    EXPECT_EQ(countWrong(average, got.data(), expected.data(), kPeriod, &first), units > 2 ? 1u : 0u) << units;
  }
  got = expected;
  for (const float bad : {-expected[5], std::nanf(""), -std::nanf(""), HUGE_VALF, 0.0f}) {
    got[5] = bad;
    EXPECT_EQ(countWrong(average, got.data(), expected.data(), kPeriod, &first), 1u) << bad;
  }
}

TEST(Data, RanksAndSeedsDiffer) {
  std::vector<uint32_t> a(kPeriod), b(kPeriod), c(kPeriod);
  fillInput({ncclUint32, Op::None, 2, 0}, 0, a.data());
  fillInput({ncclUint32, Op::None, 2, 0}, 1, b.data());
  fillInput({ncclUint32, Op::None, 2, 1}, 0, c.data());
  size_t same_rank = 0, same_seed = 0, same_next = 0;
  for (size_t i = 0; i + 1 < kPeriod; ++i) {
    same_rank += a[i] == b[i];
    same_seed += a[i] == c[i];
    same_next += a[i] == a[i + 1];
  }
  EXPECT_LT(same_rank + same_seed + same_next, 10u);
}

}  // namespace
}  // namespace perf
