// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The pinned host memory of this process: allocated here, or the program's own and registered. The emulated device
// reaches all host memory at its address, so this is bookkeeping: what an address is, and which calls are mistakes. One
// table per process; any thread.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <optional>

namespace rondo::emu {

struct HostRange {
  char* base;
  size_t bytes;
  unsigned flags;
  int device;       // current when it was made
  bool registered;  // the program's own memory
};

// nullptr: the machine's memory does not allow it. bytes > 0.
void* allocateHost(size_t bytes, unsigned flags);
// cudaErrorInvalidValue if base is not what allocateHost gave. The memory goes when pending work is done.
cudaError_t freeHost(void* base);

cudaError_t registerHost(void* base, size_t bytes, unsigned flags);
cudaError_t unregisterHost(void* base);

std::optional<HostRange> findHost(const void* address);

}  // namespace rondo::emu
