// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Planning: a call in, kernel arguments out. Pure functions of the call, the ring and the settings, so that every rank
// plans the same and tests need no device.
#pragma once

#include <cstdint>

#include "device/shared/work.h"
#include "src/plan/settings.h"
#include "src/topology/topology.h"

namespace rondo {

// One collective call, checked.
struct Call {
  CollectiveKind kind;
  const void* input;
  void* output;
  uint64_t count;  // elements
  DataType type;
  RedOp op;
  uint32_t root;

  uint64_t bytes() const { return count * elementBytes(type); }
};

// The hash of (sequence, kind, count, type, op, root): equal on all ranks that call the same.
uint64_t callHash(const Call& call, uint64_t sequence);

// "AllReduce"
const char* nameOf(CollectiveKind kind);

// "AllReduce of 1024 float32, sum (call 7)"
std::string describe(const Call& call, uint64_t sequence);

// bytes > 0, ring size > 1.
Work planBroadcast(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings);
Work planAllReduce(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings);
Work planCall(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings);

// An upper bound of the steps that one channel of this rank makes for the call. A launch may make kMaxLaunchSteps.
uint64_t countSteps(const Work& work);
constexpr uint64_t kMaxLaunchSteps = (uint64_t{1} << 31) - 1;

}  // namespace rondo
