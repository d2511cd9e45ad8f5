// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Plain memory of this host for the programs that measure without a device. A HostBuffer belongs to its owner's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perf {

// What can be allocated without swapping, as the system estimates it; the largest number where it does not say.
uint64_t availableHostBytes();

// Pages that are there when the constructor returns, so that no measurement pays for them.
class HostBuffer {
 public:
  explicit HostBuffer(size_t bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* data_;
};

}  // namespace perf
