// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): identities of hosts and calls. Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

constexpr uint64_t kHashStart = 0xcbf29ce484222325u;

constexpr uint64_t hashByte(uint64_t hash, uint8_t byte) { return (hash ^ byte) * 0x100000001b3u; }

constexpr uint64_t hashText(std::string_view text, uint64_t hash = kHashStart) {
  for (char c : text) hash = hashByte(hash, static_cast<uint8_t>(c));
  return hash;
}

constexpr uint64_t hashNumber(uint64_t number, uint64_t hash) {
  for (int shift = 0; shift < 64; shift += 8) hash = hashByte(hash, static_cast<uint8_t>(number >> shift));
  return hash;
}

}  // namespace rondo
