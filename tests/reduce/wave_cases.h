// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Runs many wave-level operations in one kernel and compares every byte of the memory they lie in with the reference,
// so that a write outside a range is found as well. Used by the tests of this folder, from the test's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/shared/types.h"
#include "tests/reduce/wave_kernel.h"

namespace rondo::wavetest {

// Which of the four ranges is which memory. kOwn and kReceived: in place.
enum class Place : uint32_t { kNowhere, kApart, kOwn, kReceived };

struct Case {
  Operation operation = Operation::kReduce;
  Reduction reduction = {DataType::kInt8, RedOp::kSum, 1};
  bool last = false;
  size_t count = 0;  // elements of reduction.type
  Place out = Place::kApart;
  Place second = Place::kNowhere;
  // Of each range from a 64-byte boundary, 0 to 15.
  unsigned outOffset = 0;
  unsigned secondOffset = 0;
  unsigned receivedOffset = 0;
  unsigned ownOffset = 0;
  // Contents; random ones when empty.
  std::vector<uint64_t> received;
  std::vector<uint64_t> own;
};

std::string describe(const Case& c);

// Runs all cases in one launch; returns the differences found, one line each, the first 10.
std::vector<std::string> run(const std::vector<Case>& cases, uint64_t seed);

// The bits of an element: often a special value (NaN, infinity, zero, subnormal, extreme), else random.
uint64_t drawElement(DataType type, uint64_t& state);
uint64_t nextRandom(uint64_t& state);

}  // namespace rondo::wavetest
