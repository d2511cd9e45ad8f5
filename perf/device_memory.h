// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A rank's device memory for the check, on the rank's stream. Owned and used by the rank's thread.
#pragma once

#include "checked_memory.h"
#include "ranks.h"

namespace perf {

class DeviceMemory : public CheckedMemory {
 public:
  explicit DeviceMemory(const Rank& rank) : rank_(rank) {}

  void fill(char* to, int byte, size_t bytes) override;
  void put(char* to, const char* from, size_t bytes) override;
  void get(char* to, const char* from, size_t bytes) override;

 private:
  const Rank& rank_;
};

}  // namespace perf
