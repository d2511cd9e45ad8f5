// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What each rank puts in and what must come out. A reduction's inputs are made so that the result is exact whatever the
// order and wherever intermediate results are rounded to the type (only a floating average may differ, by 2 units):
//   sum     floats: whole numbers whose sum over all ranks stays within the significand; integers: any, modulo 2^bits
//   prod    floats: signed powers of two, the product of all ranks stays in range; integers: odd, modulo 2^bits
//   max min floats: finite numbers of any magnitude; integers: any
//   avg     floats: two ranks contribute, results lie where 2 units cover three roundings; integers: sums in range
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace perf {

// Inputs repeat after this many elements. It is prime, so no slip by a power of two goes unseen.
constexpr size_t kPeriod = 16381;

struct Recipe {
  ncclDataType_t type = ncclFloat32;
  Op op = Op::None;  // None: arbitrary bits
  int ranks = 1;
  uint64_t seed = 0;

  bool operator==(const Recipe&) const = default;
};

// One period of rank's input, and of the reduction of all ranks' inputs (of any op but None): kPeriod elements.
void fillInput(const Recipe& recipe, int rank, void* out);
void fillReduced(const Recipe& recipe, void* out);

// How many of `count` elements differ from what is expected by more than the recipe allows. On return *first is the
// index of the first one, when there is one.
size_t countWrong(const Recipe& recipe, const void* got, const void* expected, size_t count, size_t* first);

}  // namespace perf
