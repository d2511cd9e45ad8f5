// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/memory_budget.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace rondo::emu {
namespace {

constexpr size_t kLookEveryBytes = size_t{1} << 20;
constexpr size_t kMarginBytes = size_t{64} << 20;  // left to the program and the system

// The bytes of a line such as "MemAvailable:   123 kB"; 0 if there is none.
size_t meminfo(const char* key) {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  char line[256];
  const size_t keyLength = std::strlen(key);
  unsigned long long kibibytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, key, keyLength) != 0 || line[keyLength] != ':') continue;
    if (std::sscanf(line + keyLength + 1, "%llu", &kibibytes) != 1) kibibytes = 0;
    break;
  }
  std::fclose(file);
  return static_cast<size_t>(kibibytes) << 10;
}

// The number in a control-group file; SIZE_MAX if the file is absent or says "max".
size_t groupBytes(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return SIZE_MAX;
  unsigned long long bytes = 0;
  const bool read = std::fscanf(file, "%llu", &bytes) == 1;
  std::fclose(file);
  return read ? static_cast<size_t>(bytes) : SIZE_MAX;
}

struct GroupFiles {
  const char* limit;
  const char* used;
};
// Version 2 and version 1 of the control-group file system, as a container sees them.
constexpr GroupFiles kGroupFiles[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
};

}  // namespace

size_t totalMemoryBytes() {
  size_t total = meminfo("MemTotal");
  for (const GroupFiles& files : kGroupFiles) total = std::min(total, groupBytes(files.limit));
  return total;
}

size_t availableMemoryBytes() {
  size_t available = meminfo("MemAvailable");
  for (const GroupFiles& files : kGroupFiles) {
    const size_t limit = groupBytes(files.limit);
    const size_t used = groupBytes(files.used);
    if (limit != SIZE_MAX && used != SIZE_MAX) available = std::min(available, limit - std::min(limit, used));
  }
  return available;
}

MemoryBudget& MemoryBudget::instance() {
  static auto* budget = new MemoryBudget;  // never destroyed: streams may still run at exit
  return *budget;
}

size_t MemoryBudget::availableLocked(const std::function<size_t()>& touchedBytes) const {
  const size_t untouched = reserved_ - std::min(reserved_, touchedBytes());
  const size_t available = availableMemoryBytes();
  return available - std::min(available, untouched + kMarginBytes);
}

bool MemoryBudget::reserve(size_t bytes, const std::function<size_t()>& touchedBytes) {
  std::lock_guard lock(mutex_);
  if (bytes >= kLookEveryBytes || sinceLook_ + bytes >= kLookEveryBytes) {
    if (bytes > availableLocked(touchedBytes)) return false;
    sinceLook_ = 0;
  } else {
    sinceLook_ += bytes;
  }
  reserved_ += bytes;
  return true;
}

void MemoryBudget::release(size_t bytes) {
  std::lock_guard lock(mutex_);
  reserved_ -= bytes;
}

size_t MemoryBudget::available(const std::function<size_t()>& touchedBytes) {
  std::lock_guard lock(mutex_);
  return availableLocked(touchedBytes);
}

}  // namespace rondo::emu
