// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Message sizes: reading "64M" or "1.5GiB", and the sizes of a sweep. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perf {

// Bytes of a size as written on the command line: digits with an optional decimal fraction, then B, K, M, G or T in
// either case, each also as KB or KiB; all are powers of 1024. Throws UsageError, which names `flag`, when the text is
// no size, is not a whole number of bytes or exceeds 2^63 - 1.
uint64_t parseBytes(const std::string& flag, const std::string& text);

struct SizeRange {
  uint64_t min_bytes = 32 << 20;
  uint64_t max_bytes = 32 << 20;
  uint64_t step_bytes = 1 << 20;
  uint64_t factor = 0;  // 0: additive steps
};

// min, then larger sizes up to max. Needs min <= max and a step of at least 1 or a factor of at least 2.
std::vector<uint64_t> listSizes(const SizeRange& range);

// How many sizes listSizes would return, without making the list.
uint64_t countSizes(const SizeRange& range);

// "1.5 GiB": for messages.
std::string formatBytes(double bytes);

}  // namespace perf
