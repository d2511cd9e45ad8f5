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
  Word source;    // where the payload lies if not in the slot: an address in the producer's memory; 0: in the slot
  Word landed;    // set by a proxy that receives: 1: the payload lies where Landing said, 0: in the slot
};
static_assert(sizeof(SlotHeader) == 32);

// A producer leaves payloads from this size on where they are, if the consumer can read them there.
constexpr uint64_t kLeastSourceBytes = uint64_t{1} << 15;

// A slot is this much room, of which the last bytes are the header, and then the payload. The room keeps the payload at
// kSlotAlignment.
constexpr uint64_t kSlotHeaderRoom = kSlotAlignment;
RONDO_HOST_DEVICE constexpr uint64_t slotStride(uint64_t slotBytes) { return kSlotHeaderRoom + slotBytes; }

// A receiver takes so many steps unasked; for more, and for payloads that shall land in place, its kernel says so first.
// Calls begin with as many short steps, so that little has to be copied and the long ones wait for nothing.
constexpr uint32_t kLeadSteps = 4;

// What a receiving kernel tells the proxy about the steps to come, in pinned host memory. Steps count as the FIFO's do.
// A new range is written only after all steps of the last one have arrived, when the proxy needs nothing of it any more.
struct Landing {
  Word first;      // steps from here...
  Word end;        // ...to below this land in place. Written last, by a release
  Word address;    // of the payload of step 'first'
  Word stepBytes;  // room of each step, one after the other
  Word bytes;      // of the whole range
  Word open;       // steps below this may come to their slots
};

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
