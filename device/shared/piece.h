// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How buffers are cut: channels take ranges, steps take pieces. Host and device compute the same.
#pragma once

#include <cstdint>

#include "device/shared/types.h"

namespace rondo {

// Bytes [offset, offset + bytes) of the user's buffers.
struct Piece {
  uint64_t offset;
  uint64_t bytes;
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
