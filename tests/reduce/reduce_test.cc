// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// copyRange, prepareRange and reduceRange against the reference: types, operators, counts, alignments, places.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reduce/reference.h"
#include "tests/reduce/wave_cases.h"

namespace rondo::wavetest {
namespace {

constexpr DataType kTypes[] = {DataType::kInt8,    DataType::kUint8,   DataType::kInt32,   DataType::kUint32,
                               DataType::kInt64,   DataType::kUint64,  DataType::kFloat16, DataType::kFloat32,
                               DataType::kFloat64, DataType::kBfloat16};
constexpr RedOp kOps[] = {RedOp::kSum, RedOp::kProd, RedOp::kMax, RedOp::kMin, RedOp::kAvg};

void expectAllRight(const std::vector<Case>& cases, uint64_t seed) {
  for (const std::string& difference : run(cases, seed)) ADD_FAILURE() << difference;
}

std::vector<size_t> counts() {
  std::vector<size_t> all;
  for (size_t count = 0; count <= 67; ++count) all.push_back(count);
  for (size_t count : {127, 128, 129, 255, 256, 513, 1000, 1025, 4099}) all.push_back(count);
  return all;
}

// Sets the offsets: the same for all ranges, or each its own, on element boundaries or on any byte.
void drawOffsets(Case& c, uint64_t& state) {
  const unsigned element = static_cast<unsigned>(elementBytes(c.reduction.type));
  const unsigned grain = nextRandom(state) % 2 == 0 ? element : 1;
  const bool same = nextRandom(state) % 3 == 0;
  const auto draw = [&] { return static_cast<unsigned>(nextRandom(state) % (16 / grain) * grain); };
  c.outOffset = draw();
  c.secondOffset = same ? c.outOffset : draw();
  c.receivedOffset = same ? c.outOffset : draw();
  c.ownOffset = same ? c.outOffset : draw();
}

void drawPlaces(Case& c, uint64_t& state) {
  constexpr Place kOut[] = {Place::kApart, Place::kApart, Place::kOwn, Place::kReceived};
  constexpr Place kSecond[] = {Place::kNowhere, Place::kApart, Place::kOwn, Place::kReceived};
  c.out = kOut[nextRandom(state) % 4];
  c.second = kSecond[nextRandom(state) % 4];
  if (c.second != Place::kApart && c.second == c.out) c.second = Place::kNowhere;
}

std::vector<Case> reduceCases(DataType type, Operation operation, uint64_t seed) {
  constexpr uint32_t kRanks[] = {1, 2, 3, 5, 8, 127, 128, 300, 70000};
  std::vector<Case> cases;
  uint64_t state = seed;
  for (RedOp op : kOps) {
    for (size_t count : counts()) {
      for (int sample = 0; sample < 6; ++sample) {
        Case c;
        c.operation = operation;
        c.reduction = {type, op, kRanks[nextRandom(state) % 9]};
        c.last = nextRandom(state) % 2 == 0;
        c.count = count;
        if (sample != 0) drawOffsets(c, state);
        if (sample != 0) drawPlaces(c, state);
        cases.push_back(c);
      }
    }
  }
  return cases;
}

class EveryType : public testing::TestWithParam<DataType> {};

TEST_P(EveryType, ReduceMatchesReference) {
  expectAllRight(reduceCases(GetParam(), Operation::kReduce, 1), 101);
}

TEST_P(EveryType, StridedLanesMatchReference) {
  expectAllRight(reduceCases(GetParam(), Operation::kStridedReduce, 2), 102);
}

TEST_P(EveryType, EveryOffsetOfEachRange) {
  std::vector<Case> cases;
  for (unsigned offset = 0; offset < 16; ++offset) {
    for (unsigned range = 0; range < 5; ++range) {
      for (Operation operation : {Operation::kReduce, Operation::kStridedReduce}) {
        Case c;
        c.operation = operation;
        c.reduction = {GetParam(), RedOp::kSum, 2};
        c.count = 259;
        c.second = Place::kApart;
        if (range == 0 || range == 4) c.outOffset = offset;
        if (range == 1 || range == 4) c.secondOffset = offset;
        if (range == 2 || range == 4) c.receivedOffset = offset;
        if (range == 3 || range == 4) c.ownOffset = offset;
        cases.push_back(c);
      }
    }
  }
  expectAllRight(cases, 103);
}

TEST_P(EveryType, PrepareMatchesReference) {
  std::vector<Case> cases = reduceCases(GetParam(), Operation::kPrepare, 3);
  for (Case& c : cases) {
    c.second = Place::kNowhere;
    if (c.out == Place::kReceived) c.out = Place::kApart;
  }
  expectAllRight(cases, 104);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(kTypes));

TEST(CopyRange, MatchesReference) {
  std::vector<Case> cases;
  uint64_t state = 4;
  for (Operation operation : {Operation::kCopy, Operation::kStridedCopy}) {
    for (size_t count : counts()) {
      for (unsigned sample = 0; sample < 24; ++sample) {
        Case c;
        c.operation = operation;
        c.reduction.type = DataType::kUint8;
        c.count = count * (sample % 3 == 0 ? 8 : 1);
        drawOffsets(c, state);
        drawPlaces(c, state);
        if (c.out == Place::kReceived) c.out = Place::kApart;
        if (c.second == Place::kReceived) c.second = Place::kApart;
        // Ranges that agree modulo 8, 4 or 2 only.
        if (sample % 4 == 1) c.ownOffset = (c.outOffset + (16u >> (1 + sample / 4 % 3))) % 16;
        if (sample % 4 == 1) c.secondOffset = c.outOffset;
        cases.push_back(c);
      }
    }
  }
  expectAllRight(cases, 105);
}

// Every value of the 16-bit types with every partner of a set that makes ties, cancellation, overflow and underflow.
class EverySmallFloat : public testing::TestWithParam<DataType> {};

TEST_P(EverySmallFloat, WithChosenPartners) {
  constexpr double kPartners[] = {0.0, -0.0, 1.0, -1.0, 0x1p-24, 0x1p-25, 0x1.8p-14, 0.5, 2048.0, 65504.0, 3.0, 0x1p-133, 0x1p120};
  std::vector<Case> cases;
  for (RedOp op : kOps) {
    for (double partner : kPartners) {
      Case c;
      c.reduction = {GetParam(), op, 3};
      c.count = 65536;
      c.received.assign(c.count, reference::encode(GetParam(), partner));
      for (uint64_t bits = 0; bits < c.count; ++bits) c.own.push_back(bits);
      cases.push_back(c);
      std::swap(c.received, c.own);
      cases.push_back(c);
    }
  }
  expectAllRight(cases, 106);
}

INSTANTIATE_TEST_SUITE_P(Types, EverySmallFloat, testing::Values(DataType::kFloat16, DataType::kBfloat16));

uint64_t reduceOne(DataType type, RedOp op, uint64_t received, uint64_t own) {
  return reference::reduce({type, op, 2}, received, own, false);
}

// The reference itself, against bits written down by hand; the cases put the same values through the device.
TEST(Documented, TiesZerosAndNans) {
  struct Row {
    DataType type;
    RedOp op;
    uint64_t received;
    uint64_t own;
    uint64_t result;
  };
  const Row rows[] = {
      {DataType::kFloat16, RedOp::kSum, 0x3c00, 0x1000, 0x3c00},      // 1 + 2^-11: a tie, to even 1
      {DataType::kFloat16, RedOp::kSum, 0x3c01, 0x1000, 0x3c02},      // 1 + 2^-10 + 2^-11: a tie, to even above
      {DataType::kFloat16, RedOp::kSum, 0x7bff, 0x4c00, 0x7c00},      // 65504 + 16: a tie, to infinity
      {DataType::kFloat16, RedOp::kSum, 0x7bff, 0x4bff, 0x7bff},      // 65504 + 15.99
      {DataType::kFloat16, RedOp::kProd, 0x0001, 0x3800, 0x0000},     // 2^-24 / 2: a tie, to even 0
      {DataType::kFloat16, RedOp::kProd, 0x0003, 0x3800, 0x0002},     // 3 * 2^-25: a tie, to even 2^-23
      {DataType::kFloat16, RedOp::kSum, 0x7c00, 0xfc00, 0x7e00},      // infinity - infinity
      {DataType::kFloat16, RedOp::kMax, 0xfd23, 0x7c00, 0x7e00},      // NaN wins
      {DataType::kBfloat16, RedOp::kSum, 0x3f80, 0x3b80, 0x3f80},     // 1 + 2^-8: a tie, to even 1
      {DataType::kBfloat16, RedOp::kSum, 0x3f81, 0x3b80, 0x3f82},     // to even above
      {DataType::kBfloat16, RedOp::kProd, 0x7f7f, 0x4000, 0x7f80},    // overflow
      {DataType::kBfloat16, RedOp::kProd, 0x0001, 0x3f00, 0x0000},    // subnormal tie
      {DataType::kBfloat16, RedOp::kMin, 0x0000, 0xffff, 0x7fc0},     // NaN wins
      {DataType::kBfloat16, RedOp::kMax, 0x8000, 0x0000, 0x0000},     // -0 < +0
      {DataType::kFloat32, RedOp::kMax, 0x00000000, 0x80000000, 0x00000000},
      {DataType::kFloat32, RedOp::kMin, 0x00000000, 0x80000000, 0x80000000},
      {DataType::kFloat32, RedOp::kMin, 0x7f800001, 0xff800000, 0x7fc00000},
      {DataType::kFloat64, RedOp::kMin, 0x0000000000000000, 0x8000000000000000, 0x8000000000000000},
      {DataType::kFloat64, RedOp::kProd, 0x7ff0000000000000, 0x0000000000000000, 0x7ff8000000000000},
      {DataType::kInt8, RedOp::kSum, 0x7f, 0x01, 0x80},
      {DataType::kInt32, RedOp::kProd, 0x80000000, 0xffffffff, 0x80000000},
  };
  std::vector<Case> cases;
  for (const Row& row : rows) {
    EXPECT_EQ(reduceOne(row.type, row.op, row.received, row.own), row.result)
        << "type " << static_cast<int>(row.type) << " op " << static_cast<int>(row.op) << std::hex << " "
        << row.received << " " << row.own;
    for (Operation operation : {Operation::kReduce, Operation::kStridedReduce}) {
      Case c;
      c.operation = operation;
      c.reduction = {row.type, row.op, 2};
      c.count = 100;
      c.received.assign(c.count, row.received);
      c.own.assign(c.count, row.own);
      cases.push_back(c);
    }
  }
  expectAllRight(cases, 107);
}

TEST(Documented, IntegerAverageTruncatesTowardZero) {
  struct Row {
    DataType type;
    uint32_t ranks;
    uint64_t received;
    uint64_t own;
    uint64_t result;
  };
  const Row rows[] = {
      {DataType::kInt8, 2, 0xfe, 0xff, 0xff},           // (-2 - 1) / 2 = -1
      {DataType::kInt8, 300, 0x7f, 0x00, 0x00},         // more ranks than the type can hold
      {DataType::kInt8, 3, 0x7f, 0x02, 0xd6},           // wraps to -127; -42.3 becomes -42
      {DataType::kUint8, 2, 0xff, 0x02, 0x00},          // wraps to 1
      {DataType::kInt32, 3, 0xffffffff, 0xfffffffc, 0xffffffff},
      {DataType::kUint32, 2, 0xffffffff, 0x00000000, 0x7fffffff},
      {DataType::kInt64, 4, 0x8000000000000000, 0x0000000000000000, 0xe000000000000000},
      {DataType::kUint64, 4, 0x8000000000000000, 0x0000000000000000, 0x2000000000000000},
  };
  std::vector<Case> cases;
  for (const Row& row : rows) {
    Case c;
    c.reduction = {row.type, RedOp::kAvg, row.ranks};
    EXPECT_EQ(reference::reduce(c.reduction, row.received, row.own, true), row.result);
    c.last = true;
    c.count = 70;
    c.received.assign(c.count, row.received);
    c.own.assign(c.count, row.own);
    cases.push_back(c);
    c.operation = Operation::kStridedReduce;
    cases.push_back(c);
  }
  expectAllRight(cases, 108);
}

}  // namespace
}  // namespace rondo::wavetest
