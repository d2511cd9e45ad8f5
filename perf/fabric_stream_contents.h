// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The contents that fabric_stream sends: 8-byte words made from their place, so that a misplaced or stale one is seen.
// Pure functions, any thread.
#pragma once

#include <cstdint>

namespace perf {

void fillStream(char* buffer, uint64_t bytes);
// How many words differ; a part of a word at the end counts as one.
uint64_t countWrongWords(const char* buffer, uint64_t bytes);

}  // namespace perf
