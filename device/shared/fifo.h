// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The FIFO's memory: what a producer (a kernel or a proxy) and a consumer share. One producer, one consumer, 'depth'
// slots. The contract F1-F7 and the argument why it holds stand in device/primitives/fifo.h.
#pragma once

#include <cstdint>

#include "device/shared/word.h"

namespace rondo {

constexpr uint32_t kMaxDepth = 64;
constexpr uint64_t kSlotAlignment = 128;

// Written by the producer before it publishes the slot's step.
struct SlotHeader {
  Word bytes;     // payload bytes in the slot
  Word callHash;  // which call the step belongs to (Work::hash)
};
static_assert(sizeof(SlotHeader) == 16);

// One side's view of a FIFO. tail lies in the consumer's memory, head in the producer's, slots and headers in the
// consumer's: each side polls its own memory and writes to the other's.
struct Fifo {
  Word* tail;           // steps published by the producer; starts at the first step, never wraps
  Word* head;           // steps released by the consumer; likewise
  SlotHeader* headers;  // depth entries
  char* slots;          // depth * slotBytes, kSlotAlignment-aligned
  uint64_t slotBytes;   // a multiple of kSlotAlignment
  uint64_t depth;       // a power of two, 1 to kMaxDepth
};

}  // namespace rondo
