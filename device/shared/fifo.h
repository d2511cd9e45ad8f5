// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The FIFO's memory: what a producer (a kernel or a proxy) and a consumer share. One producer, one consumer, 'depth'
// slots. The contract F1-F7 and the argument why it holds stand in device/primitives/fifo.h.
#pragma once

#include <cstdint>

#include "device/shared/types.h"
#include "device/shared/word.h"

namespace rondo {

constexpr uint32_t kMaxDepth = 64;
constexpr uint64_t kSlotAlignment = 128;

// Written by the producer before it publishes the slot's step. It lies right before the payload, so that a network moves
// both as one range.
struct SlotHeader {
  Word bytes;     // payload bytes in the slot
  Word callHash;  // which call the step belongs to (Work::hash)
};
static_assert(sizeof(SlotHeader) == 16);

// A slot is this much room, of which the last bytes are the header, and then the payload. The room keeps the payload at
// kSlotAlignment.
constexpr uint64_t kSlotHeaderRoom = kSlotAlignment;
RONDO_HOST_DEVICE constexpr uint64_t slotStride(uint64_t slotBytes) { return kSlotHeaderRoom + slotBytes; }

// One side's view of a FIFO. tail lies in the consumer's memory, head in the producer's, slots in the consumer's: each
// side polls its own memory and writes to the other's. Between a kernel and the proxy all of it is pinned host memory.
struct Fifo {
  Word* tail;          // steps published by the producer; starts at the first step, never wraps
  Word* head;          // steps released by the consumer; likewise
  char* slots;         // depth * slotStride(slotBytes), kSlotAlignment-aligned
  uint64_t slotBytes;  // payload of a slot, a multiple of kSlotAlignment
  uint64_t depth;      // a power of two, 1 to kMaxDepth
};

// The size of a rank's FIFOs in one direction: the same on all ranks of a communicator.
struct FifoShape {
  uint32_t channels;
  uint32_t depth;
  uint64_t slotBytes;
  uint64_t firstStep;  // what tail and head start at; not 0 only in tests

  uint64_t slotsBytes() const { return depth * slotStride(slotBytes); }  // of one channel
};

}  // namespace rondo
