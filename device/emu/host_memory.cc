// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/host_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "device/emu/deferred_free.h"
#include "device/emu/device.h"
#include "device/emu/memory_budget.h"

namespace rondo::emu {
namespace {

constexpr size_t kPage = 4096;

struct HostTable {
  std::mutex mutex;  // protects ranges; a leaf lock
  std::map<uintptr_t, HostRange> ranges;
};

HostTable& table() {
  static auto* ranges = new HostTable;  // never destroyed: streams may be busy at exit
  return *ranges;
}

uintptr_t key(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

bool overlapsLocked(const HostTable& host, const void* base, size_t bytes) {
  auto next = host.ranges.lower_bound(key(base));
  if (next != host.ranges.end() && next->first - key(base) < bytes) return true;
  if (next == host.ranges.begin()) return false;
  --next;
  return key(base) - next->first < next->second.bytes;
}

void add(const HostRange& range) {
  std::lock_guard lock(table().mutex);
  table().ranges[key(range.base)] = range;
}

}  // namespace

void* allocateHost(size_t bytes, unsigned flags) {
  // Pinned memory is resident: it is touched here, and shows in what the machine has available from then on.
  const size_t available = MemoryBudget::instance().available(touchedBytesOfAllDevices);
  if (bytes > available || bytes > SIZE_MAX - kPage) return nullptr;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  add({static_cast<char*>(base), bytes, flags, currentDevice(), false});
  return base;
}

cudaError_t freeHost(void* base) {
  size_t bytes = 0;
  {
    std::lock_guard lock(table().mutex);
    const auto entry = table().ranges.find(key(base));
    if (entry == table().ranges.end() || entry->second.registered) return cudaErrorInvalidValue;
    bytes = entry->second.bytes;
    table().ranges.erase(entry);
  }
  releaseWhenIdle([base, bytes] { munmap(base, bytes); });
  return cudaSuccess;
}

cudaError_t registerHost(void* base, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (base == nullptr || bytes == 0 || bytes > SIZE_MAX - key(base) || (flags & ~kKnown) != 0) {
    return cudaErrorInvalidValue;
  }
  std::lock_guard lock(table().mutex);
  if (overlapsLocked(table(), base, bytes)) return cudaErrorHostMemoryAlreadyRegistered;
  table().ranges[key(base)] = {static_cast<char*>(base), bytes, flags, currentDevice(), true};
  return cudaSuccess;
}

cudaError_t unregisterHost(void* base) {
  std::lock_guard lock(table().mutex);
  const auto entry = table().ranges.find(key(base));
  if (entry == table().ranges.end() || !entry->second.registered) return cudaErrorHostMemoryNotRegistered;
  table().ranges.erase(entry);
  return cudaSuccess;
}

std::optional<HostRange> findHost(const void* address) {
  std::lock_guard lock(table().mutex);
  auto entry = table().ranges.upper_bound(key(address));
  if (entry == table().ranges.begin()) return std::nullopt;
  --entry;
  if (key(address) - entry->first >= entry->second.bytes) return std::nullopt;
  return entry->second;
}

}  // namespace rondo::emu
