// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The kernel of these tests: one wave runs a list of wave-level operations. The list and the memory lie on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/runtime/runtime.h"
#include "device/shared/types.h"

namespace rondo::wavetest {

enum class Operation : uint32_t {
  kCopy,
  kPrepare,
  kReduce,
  kStridedCopy,   // as the 32 lanes of a GPU's wave would do it, one lane after the other, on any device
  kStridedReduce
};

struct Item {
  Operation operation;
  Reduction reduction;
  uint32_t last;
  char* out;
  char* second;
  const char* received;
  const char* own;
  size_t bytes;
};

// Enqueues a kernel of one worker wave.
void launchItems(const Item* items, size_t count, runtime::Stream stream);

}  // namespace rondo::wavetest
