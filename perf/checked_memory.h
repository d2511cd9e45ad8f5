// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How the check reaches the buffers of a rank: a device's memory through its runtime, plain memory at once. Owned and
// used by the rank's thread.
#pragma once

#include <cstddef>

namespace perf {

// Bytes before and after the receive buffer that no operation may touch.
constexpr size_t kGuardBytes = 512;

class CheckedMemory {
 public:
  virtual ~CheckedMemory() = default;

  // These may return before they are done, in their order before the next operation on the buffers. `from` stays as it
  // is until then.
  virtual void fill(char* to, int byte, size_t bytes) = 0;
  virtual void put(char* to, const char* from, size_t bytes) = 0;
  // Returns when the bytes are there.
  virtual void get(char* to, const char* from, size_t bytes) = 0;
};

// The receive buffer lies between two guards.
struct CheckedBuffers {
  int rank = 0;
  char* send = nullptr;
  char* recv = nullptr;
};

}  // namespace perf
