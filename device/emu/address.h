// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What an address is. Looks in the devices' memory, in memory opened from other processes and in pinned host memory.
// Keeps nothing itself; any thread.
#pragma once

#include <cstddef>

namespace rondo::emu {

enum class Place {
  kUnknown,  // host memory the runtime was not told of, or no memory at all
  kDead,     // device memory that is not allocated, or was freed
  kDevice,
  kManaged,
  kImported,  // another process's device memory
  kPinned     // host memory, allocated or registered
};

struct AddressInfo {
  Place place = Place::kUnknown;
  int device = -1;
  char* base = nullptr;  // of the allocation, with its bytes; not for kUnknown and kDead
  size_t bytes = 0;
  unsigned flags = 0;  // kPinned

  bool onDevice() const { return place == Place::kDevice || place == Place::kManaged || place == Place::kImported; }
  // Whether 'count' bytes from the address on stay inside the allocation.
  bool covers(const void* address, size_t count) const {
    return count <= bytes - static_cast<size_t>(static_cast<const char*>(address) - base);
  }
};

AddressInfo describeAddress(const void* address);

}  // namespace rondo::emu
