// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a ring algorithm needs to know. Algorithms are templates over the channel: the same source runs on GPUs, on the
// emulated device and, in tests, with a symbolic channel that records which contribution lands where.
//
// A channel offers, each for one step of at most stepBytes and in the order in which the peers expect them:
//   send(piece)                    own input -> next
//   sendCopy(piece)                own input -> next, and to the own output
//   sendOutput(piece)              own output -> next
//   receive(piece)                 previous -> output
//   forward(piece)                 previous -> output and next
//   receiveReduceSend(piece)       previous + own input -> next
//   receiveReduceCopy(piece)       previous + own input -> output, a partial result
//   receiveReduceFinish(piece)     previous + own input -> output, the final result
//   receiveReduceFinishSend(piece) previous + own input -> output and next, the final result
#pragma once

#include <cstdint>

#include "device/arch/arch.h"

namespace rondo {

// Bytes [offset, offset + bytes) of the user's buffers.
struct Piece {
  uint64_t offset;
  uint64_t bytes;
};

struct RingArgs {
  uint32_t index;          // this rank's place in the ring, 0 to ranks-1; for broadcast counted from the root
  uint32_t ranks;          // at least 2
  Piece range;             // this channel's part of the buffers
  uint64_t stepBytes;      // a multiple of granuleBytes
  uint32_t stepsPerChunk;  // cyclic algorithms
  bool split;              // cyclic algorithms: release a received step before waiting for credit (F5)
};

// Pieces start at multiples of this from the buffer's start: a multiple of every element size and of 16.
constexpr uint64_t kGranuleBytes = 128;

// Where fused steps must be split: a rank may hold a received step while it waits for credit only if the steps of a
// chunk fit beside it (F5 in device/primitives/fifo.h).
RONDO_HOST_DEVICE constexpr bool mustSplit(uint64_t depth, uint32_t stepsPerChunk) { return stepsPerChunk + 1 > depth; }

RONDO_HOST_DEVICE constexpr uint64_t divideRoundUp(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

// The part of [0, bytes) that channel 'channel' of 'channels' carries: whole granules, shared out evenly.
RONDO_HOST_DEVICE constexpr Piece channelRange(uint64_t bytes, uint32_t channels, uint32_t channel) {
  const uint64_t granules = divideRoundUp(bytes, kGranuleBytes);
  const uint64_t begin = granules * channel / channels * kGranuleBytes;
  uint64_t end = granules * (channel + 1) / channels * kGranuleBytes;
  if (end > bytes) end = bytes;
  return {begin, end > begin ? end - begin : 0};
}

}  // namespace rondo
