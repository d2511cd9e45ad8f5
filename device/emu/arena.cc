// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "device/emu/device.h"
#include "device/emu/memory_budget.h"

namespace rondo::emu {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kPage = 4096;
constexpr size_t kLargeBytes = 64 * 1024;  // page-aligned, and given back to the machine when freed
constexpr size_t kLeastCapacity = size_t{64} << 20;

constexpr size_t roundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr size_t roundDown(size_t value, size_t unit) {
  return value / unit * unit;
}

uint64_t randomId() {
  std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

}  // namespace

bool Arena::openLocked() {
  if (base_.load(std::memory_order_relaxed) != nullptr) return true;
  char name[32];
  std::snprintf(name, sizeof name, "rondo-device-%d", device_);
  file_ = memfd_create(name, MFD_CLOEXEC);
  if (file_ < 0) return false;
  // Twice the machine's memory leaves room for fragmentation; what may be allocated is the budget's business.
  size_t capacity = roundUp(std::max(2 * totalMemoryBytes(), kLeastCapacity), kPage);
  while (!mapLocked(capacity)) {
    capacity = roundDown(capacity / 2, kPage);
    if (capacity >= kLeastCapacity) continue;
    close(file_);
    file_ = -1;
    return false;
  }
  addFreeLocked(kPage, capacity - kPage);  // the first page is the head's
  return true;
}

bool Arena::mapLocked(size_t capacity) {
  if (ftruncate(file_, static_cast<off_t>(capacity)) != 0) return false;
  void* base = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (base == MAP_FAILED) return false;
  madvise(base, capacity, MADV_DONTDUMP);  // a core file would be as large as the arena
  id_ = randomId();
  *static_cast<FileHead*>(base) = {kFileMagic, id_};
  capacity_.store(capacity, std::memory_order_relaxed);
  // Pairs with the acquire in contains(): makes capacity_ visible.
  base_.store(static_cast<char*>(base), std::memory_order_release);
  return true;
}

void* Arena::allocate(size_t bytes, AllocationKind kind) {
  const size_t alignment = bytes >= kLargeBytes ? kPage : kAlignment;
  if (bytes > SIZE_MAX - kPage) return nullptr;
  const size_t rounded = roundUp(bytes, alignment);
  if (!MemoryBudget::instance().reserve(rounded, touchedBytesOfAllDevices)) return nullptr;
  std::unique_lock lock(mutex_);
  const std::optional<size_t> offset = openLocked() ? takeLocked(rounded, alignment) : std::nullopt;
  if (!offset) {
    lock.unlock();
    MemoryBudget::instance().release(rounded);
    return nullptr;
  }
  live_[*offset] = {bytes, rounded, kind, false};
  return at(*offset);
}

// The smallest free range that fits; the parts before and after stay free.
std::optional<size_t> Arena::takeLocked(size_t bytes, size_t alignment) {
  for (auto entry = freeBySize_.lower_bound({bytes, 0}); entry != freeBySize_.end(); ++entry) {
    const auto [rangeBytes, rangeOffset] = *entry;
    const size_t offset = roundUp(rangeOffset, alignment);
    if (offset + bytes > rangeOffset + rangeBytes) continue;
    dropFreeLocked(freeByOffset_.find(rangeOffset));
    if (offset > rangeOffset) addFreeLocked(rangeOffset, offset - rangeOffset);
    const size_t rest = rangeOffset + rangeBytes - offset - bytes;
    if (rest > 0) addFreeLocked(offset + bytes, rest);
    return offset;
  }
  return std::nullopt;
}

bool Arena::retire(void* base) {
  std::lock_guard lock(mutex_);
  if (!contains(base)) return false;
  const auto entry = live_.find(offsetOf(base));
  if (entry == live_.end() || entry->second.retired) return false;
  entry->second.retired = true;
  return true;
}

void Arena::release(void* base) {
  const size_t offset = offsetOf(base);
  size_t rounded = 0;
  {
    std::lock_guard lock(mutex_);
    const auto entry = live_.find(offset);
    if (entry == live_.end() || !entry->second.retired) return;
    rounded = entry->second.rounded;
    // Punched before the range can be handed out again, and with the lock held: the next owner's data must survive.
    punch(offset, rounded);
    live_.erase(entry);
    giveLocked(offset, rounded);
  }
  MemoryBudget::instance().release(rounded);
}

void Arena::releaseAll() {
  size_t total = 0;
  {
    std::lock_guard lock(mutex_);
    for (auto entry = live_.begin(); entry != live_.end();) {
      const auto [offset, live] = *entry;
      if (live.retired) {
        ++entry;
        continue;
      }
      punch(offset, live.rounded);
      giveLocked(offset, live.rounded);
      total += live.rounded;
      entry = live_.erase(entry);
    }
  }
  MemoryBudget::instance().release(total);
}

void Arena::punch(size_t offset, size_t bytes) {
  if (bytes < kLargeBytes) return;
  // A failure costs memory, not correctness.
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(bytes));
}

// Joins the range with its free neighbours.
void Arena::giveLocked(size_t offset, size_t bytes) {
  auto next = freeByOffset_.lower_bound(offset);
  if (next != freeByOffset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      dropFreeLocked(previous);
    }
  }
  if (next != freeByOffset_.end() && offset + bytes == next->first) {
    bytes += next->second;
    dropFreeLocked(next);
  }
  addFreeLocked(offset, bytes);
}

void Arena::addFreeLocked(size_t offset, size_t bytes) {
  freeByOffset_.emplace(offset, bytes);
  freeBySize_.emplace(bytes, offset);
}

void Arena::dropFreeLocked(std::map<size_t, size_t>::iterator range) {
  freeBySize_.erase({range->second, range->first});
  freeByOffset_.erase(range);
}

std::optional<Allocation> Arena::find(const void* address) const {
  if (!contains(address)) return std::nullopt;
  const size_t offset = offsetOf(address);
  std::lock_guard lock(mutex_);
  auto entry = live_.upper_bound(offset);
  if (entry == live_.begin()) return std::nullopt;
  --entry;
  const Live& live = entry->second;
  if (live.retired || offset - entry->first >= live.bytes) return std::nullopt;
  return Allocation{at(entry->first), live.bytes, live.kind};
}

bool Arena::contains(const void* address) const {
  const auto base = reinterpret_cast<uintptr_t>(base_.load(std::memory_order_acquire));  // pairs with mapLocked()
  const auto position = reinterpret_cast<uintptr_t>(address);
  return base != 0 && position >= base && position - base < capacity_.load(std::memory_order_relaxed);
}

size_t Arena::touchedBytes() const {
  if (base_.load(std::memory_order_acquire) == nullptr) return 0;  // pairs with mapLocked(): makes file_ visible
  struct stat status;
  return fstat(file_, &status) == 0 ? static_cast<size_t>(status.st_blocks) * 512 : 0;
}

bool Arena::holdsId(uint64_t id) const {
  return base_.load(std::memory_order_acquire) != nullptr && id_ == id;  // pairs with mapLocked(): makes id_ visible
}

size_t Arena::offsetOf(const void* address) const {
  return static_cast<size_t>(static_cast<const char*>(address) - base_.load(std::memory_order_relaxed));
}

char* Arena::at(size_t offset) const {
  return base_.load(std::memory_order_relaxed) + offset;
}

}  // namespace rondo::emu
