// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "error.h"
#include "sizes.h"

namespace perf {

uint64_t availableHostBytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t value = 0;
  while (file >> name >> value) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return value * 1024;
  }
  return std::numeric_limits<uint64_t>::max();
}

HostBuffer::HostBuffer(size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    fail("no {} of memory: mmap: {}", formatBytes(static_cast<double>(bytes)), std::strerror(errno));
  }
  data_ = static_cast<char*>(memory);
}

HostBuffer::~HostBuffer() {
  munmap(data_, bytes_);
}

}  // namespace perf
