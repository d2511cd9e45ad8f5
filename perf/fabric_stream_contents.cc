// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_contents.h"

#include <algorithm>
#include <cstring>

namespace perf {
namespace {

uint64_t wordAt(uint64_t offset) {
  uint64_t value = (offset + 1) * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
  value ^= value >> 29;
  return value * 0xbf58476d1ce4e5b9 ^ value >> 32;
}

}  // namespace

void fillStream(char* buffer, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += sizeof(uint64_t)) {
    const uint64_t word = wordAt(offset);
    std::memcpy(buffer + offset, &word, std::min<uint64_t>(sizeof(word), bytes - offset));
  }
}

uint64_t countWrongWords(const char* buffer, uint64_t bytes) {
  uint64_t wrong = 0;
  for (uint64_t offset = 0; offset < bytes; offset += sizeof(uint64_t)) {
    const uint64_t word = wordAt(offset);
    wrong += std::memcmp(buffer + offset, &word, std::min<uint64_t>(sizeof(word), bytes - offset)) != 0;
  }
  return wrong;
}

}  // namespace perf
