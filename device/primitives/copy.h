// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// copyRange: the wave-level copy of worker waves, with one or two outputs (broadcast's slot and user buffer). Stateless.
// Any byte alignment; no byte outside the ranges is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/arch/arch.h"
#include "device/arch/compute.h"
#include "device/primitives/lane_loops.h"

namespace rondo {

namespace lanes {

template <class T>
struct CopyKernel {
  using Bits = T;
  static constexpr bool kReceives = false;
  static constexpr size_t kInFlight = 4;
  RONDO_DEVICE T operator()(T, T own) const { return own; }
};

// With two outputs in pieces that stay in the first-level cache, so that the input is read from memory once.
RONDO_DEVICE void copyContiguous(Ranges ranges, size_t bytes) {
  if (ranges.second == nullptr) {
    if (ranges.out != ranges.own) memcpy(ranges.out, ranges.own, bytes);
    return;
  }
  constexpr size_t kPiece = 16384;
  while (bytes != 0) {
    const size_t piece = bytes < kPiece ? bytes : kPiece;
    if (ranges.out != ranges.own) memcpy(ranges.out, ranges.own, piece);
    if (ranges.second != ranges.own) memcpy(ranges.second, ranges.own, piece);
    ranges = advanced(ranges, piece);
    bytes -= piece;
  }
}

// Ranges that agree modulo sizeof(Unit): single bytes up to its alignment and after the last unit.
template <class Unit, class Share>
RONDO_DEVICE void copyUnits(const Ranges& ranges, size_t bytes, Share share) {
  const size_t past = reinterpret_cast<uintptr_t>(ranges.out) % sizeof(Unit);
  const size_t wanted = past == 0 ? 0 : sizeof(Unit) - past;
  const size_t head = wanted < bytes ? wanted : bytes;
  const size_t units = (bytes - head) / sizeof(Unit);
  if constexpr (sizeof(Unit) == kPackBytes) {
    processPackRange(advanced(ranges, head), share(units), CopyKernel<uint64_t>{});
  } else {
    processElementRange(advanced(ranges, head), {units, 0}, share(units), CopyKernel<Unit>{});
  }
  const size_t inUnits = units * sizeof(Unit);
  processElementRange(ranges, {head, inUnits}, share(bytes - inUnits), CopyKernel<uint8_t>{});
}

// The widest access on which all ranges agree.
template <class Share>
RONDO_DEVICE void copyStrided(const Ranges& ranges, size_t bytes, Share share) {
  if (agree(ranges, 16)) {
    copyUnits<arch::Pair64>(ranges, bytes, share);
  } else if (agree(ranges, 8)) {
    copyUnits<uint64_t>(ranges, bytes, share);
  } else if (agree(ranges, 4)) {
    copyUnits<uint32_t>(ranges, bytes, share);
  } else if (agree(ranges, 2)) {
    copyUnits<uint16_t>(ranges, bytes, share);
  } else {
    copyUnits<uint8_t>(ranges, bytes, share);
  }
}

}  // namespace lanes

// Copies bytes from in to out and, unless it is null, to secondOut. All lanes of the wave call it together. An output
// may equal in; no other overlap.
RONDO_OUTLINED void copyRange(char* out, char* secondOut, const char* in, size_t bytes) {
  const lanes::Ranges ranges = {out, secondOut, nullptr, in};
  const arch::Tile lane = arch::tile(bytes);
  if (lane.begin >= lane.end) return;
  if (lane.stride == 1) {
    const size_t mine = lane.end - lane.begin;
    lanes::copyContiguous(lanes::announced(lanes::advanced(ranges, lane.begin), mine), mine);
  } else {
    lanes::copyStrided(lanes::announced(ranges, bytes), bytes, lanes::TileShare{});
  }
}

}  // namespace rondo
