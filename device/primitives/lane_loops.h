// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The loops under copyRange, prepareRange and reduceRange: what one lane of a worker wave does with its part of a range.
// Stateless; called by worker waves only. A loop's body is a Kernel: it maps one element of each input to one element of
// the output, by their bits (numbers.h).
//
// arch::tile decides which loop runs, and since its stride is a constant of the target, the other loop vanishes:
//   stride 1   the lane's part is contiguous: blocks of elements through a local array, which compilers vectorise
//              without having to prove that outputs do not overlap inputs;
//   otherwise  lanes take turns: 16-byte packs, kInFlight of them loaded before the first is used, if all pointers agree
//              modulo 16; else single elements, assembled from bytes where a pointer is not aligned to its type.
// Both touch exactly the bytes of the ranges and give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/arch/arch.h"
#include "device/arch/compute.h"

namespace rondo::lanes {

constexpr size_t kPackBytes = 16;

// Accesses of a lane that are loaded before the first is used. Unpacked bytes take four times their registers.
template <class Bits>
constexpr size_t kMostInFlight = sizeof(Bits) == 1 ? 2 : 4;

// The ranges of one operation. second may be null; so is received where the kernel has one input. Outputs may equal
// inputs; ranges that overlap in any other way are not allowed.
struct Ranges {
  char* out;
  char* second;
  const char* received;
  const char* own;
};

// A copy of size bytes that becomes one access if the compiler knows the alignment.
template <class T>
RONDO_DEVICE T loadBytes(const char* from) {
  T value;
  memcpy(&value, from, sizeof(T));
  return value;
}
template <class T>
RONDO_DEVICE void storeBytes(char* to, T value) {
  memcpy(to, &value, sizeof(T));
}

RONDO_DEVICE unsigned misalignment(const Ranges& ranges, unsigned to) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(ranges.out) | reinterpret_cast<uintptr_t>(ranges.second) |
                        reinterpret_cast<uintptr_t>(ranges.received) | reinterpret_cast<uintptr_t>(ranges.own);
  return static_cast<unsigned>(all) & (to - 1);
}

// True if all ranges have the same address modulo 'to', so that one head of elements aligns them all.
RONDO_DEVICE bool agree(const Ranges& ranges, unsigned to) {
  const uintptr_t out = reinterpret_cast<uintptr_t>(ranges.out);
  uintptr_t different = out ^ reinterpret_cast<uintptr_t>(ranges.own);
  if (ranges.second != nullptr) different |= out ^ reinterpret_cast<uintptr_t>(ranges.second);
  if (ranges.received != nullptr) different |= out ^ reinterpret_cast<uintptr_t>(ranges.received);
  return (different & (to - 1)) == 0;
}

RONDO_DEVICE Ranges advanced(const Ranges& ranges, size_t bytes) {
  return {ranges.out + bytes, ranges.second != nullptr ? ranges.second + bytes : nullptr,
          ranges.received != nullptr ? ranges.received + bytes : nullptr, ranges.own + bytes};
}

// Announces the lane's part of each range and returns the pointers to use.
RONDO_DEVICE Ranges announced(const Ranges& ranges, size_t bytes) {
  Ranges lane = ranges;
  lane.own = arch::readRange(ranges.own, bytes);
  if (ranges.received != nullptr) lane.received = arch::readRange(ranges.received, bytes);
  lane.out = arch::writeRange(ranges.out, bytes);
  if (ranges.second != nullptr) lane.second = arch::writeRange(ranges.second, bytes);
  return lane;
}

// A lane's part of a count: begin, begin + stride, ... below end. arch::Tile with the stride as a value, so that tests
// can go through the lanes of any wave.
struct Part {
  size_t begin;
  size_t end;
  size_t stride;
};

// --- contiguous

// kInputs says whether received is read. The block stays in the first-level cache.
template <class Kernel>
RONDO_DEVICE void processBlock(const Ranges& ranges, size_t count, const Kernel& kernel) {
  using Bits = typename Kernel::Bits;
  Bits results[Kernel::kBlock];
  for (size_t i = 0; i < count; ++i) {
    const Bits own = loadBytes<Bits>(ranges.own + i * sizeof(Bits));
    const Bits received = Kernel::kReceives ? loadBytes<Bits>(ranges.received + i * sizeof(Bits)) : Bits{};
    results[i] = kernel(received, own);
  }
  memcpy(ranges.out, results, count * sizeof(Bits));
  if (ranges.second != nullptr) memcpy(ranges.second, results, count * sizeof(Bits));
}

template <class Kernel>
RONDO_DEVICE void processContiguous(Ranges ranges, size_t count, const Kernel& kernel) {
  constexpr size_t kBlock = Kernel::kBlock;
  for (; count >= kBlock; count -= kBlock) {
    processBlock(ranges, kBlock, kernel);
    ranges = advanced(ranges, kBlock * sizeof(typename Kernel::Bits));
  }
  if (count != 0) processBlock(ranges, count, kernel);
}

// --- strided: begin, end and stride count elements or packs of the whole range

template <class Kernel>
struct alignas(kPackBytes) Pack {
  using Bits = typename Kernel::Bits;
  Bits elements[kPackBytes / sizeof(Bits)];
};

template <class T>
RONDO_DEVICE T* at(const char* base, size_t index) {
  return reinterpret_cast<T*>(const_cast<char*>(base)) + index;
}

// kCount packs, 'stride' apart, from index on.
template <size_t kCount, class Kernel>
RONDO_DEVICE void processPacks(const Ranges& ranges, size_t index, size_t stride, const Kernel& kernel) {
  using P = Pack<Kernel>;
  P own[kCount];
  P received[kCount];
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) {
    own[k] = *at<const P>(ranges.own, index + k * stride);
    if (Kernel::kReceives) received[k] = *at<const P>(ranges.received, index + k * stride);
  }
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) {
    RONDO_UNROLLED
    for (size_t e = 0; e < sizeof(P) / sizeof(typename Kernel::Bits); ++e) {
      own[k].elements[e] = kernel(Kernel::kReceives ? received[k].elements[e] : 0, own[k].elements[e]);
    }
    *at<P>(ranges.out, index + k * stride) = own[k];
  }
  if (ranges.second == nullptr) return;
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) *at<P>(ranges.second, index + k * stride) = own[k];
}

template <class Kernel>
RONDO_DEVICE void processPackRange(const Ranges& ranges, Part lane, const Kernel& kernel) {
  constexpr size_t kInFlight = Kernel::kInFlight;
  size_t i = lane.begin;
  if (kInFlight > 1) {
    RONDO_ROLLED
    for (; i + (kInFlight - 1) * lane.stride < lane.end; i += kInFlight * lane.stride) {
      processPacks<kInFlight>(ranges, i, lane.stride, kernel);
    }
  }
  RONDO_ROLLED
  for (; i < lane.end; i += lane.stride) processPacks<1>(ranges, i, lane.stride, kernel);
}

template <class Bits>
RONDO_DEVICE Bits loadElement(const char* base, size_t index, bool aligned) {
  if (aligned) return *at<const Bits>(base, index);
  uint64_t bits = 0;
  RONDO_ROLLED
  for (unsigned b = 0; b < sizeof(Bits); ++b) {
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(base[index * sizeof(Bits) + b])) << (8 * b);
  }
  return static_cast<Bits>(bits);
}

template <class Bits>
RONDO_DEVICE void storeElement(char* base, size_t index, Bits value, bool aligned) {
  if (aligned) {
    *at<Bits>(base, index) = value;
    return;
  }
  RONDO_ROLLED
  for (unsigned b = 0; b < sizeof(Bits); ++b) {
    base[index * sizeof(Bits) + b] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * b));
  }
}

// kCount elements, 'stride' apart, from index on.
template <size_t kCount, class Kernel>
RONDO_DEVICE void processElements(const Ranges& ranges, size_t index, size_t stride, bool aligned,
                                  const Kernel& kernel) {
  using Bits = typename Kernel::Bits;
  Bits own[kCount];
  Bits received[kCount];
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) {
    own[k] = loadElement<Bits>(ranges.own, index + k * stride, aligned);
    received[k] = Kernel::kReceives ? loadElement<Bits>(ranges.received, index + k * stride, aligned) : Bits{};
  }
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) {
    own[k] = kernel(received[k], own[k]);
    storeElement(ranges.out, index + k * stride, own[k], aligned);
  }
  if (ranges.second == nullptr) return;
  RONDO_UNROLLED
  for (size_t k = 0; k < kCount; ++k) storeElement(ranges.second, index + k * stride, own[k], aligned);
}

// Elements one by one, without the 'gap' elements that follow the first 'head' ones.
struct Elements {
  size_t head;
  size_t gap;
};

template <class Kernel>
RONDO_DEVICE void processElementRange(const Ranges& ranges, Elements elements, Part lane, const Kernel& kernel) {
  constexpr size_t kInFlight = Kernel::kInFlight;
  const bool aligned = misalignment(ranges, sizeof(typename Kernel::Bits)) == 0;
  size_t i = lane.begin;
  if (kInFlight > 1 && aligned && elements.gap == 0) {
    RONDO_ROLLED
    for (; i + (kInFlight - 1) * lane.stride < lane.end; i += kInFlight * lane.stride) {
      processElements<kInFlight>(ranges, i, lane.stride, true, kernel);
    }
  }
  RONDO_ROLLED
  for (; i < lane.end; i += lane.stride) {
    processElements<1>(ranges, i < elements.head ? i : i + elements.gap, 0, aligned, kernel);
  }
}

// 'share' maps a count to the lane's part of it, as arch::tile does.
template <class Kernel, class Share>
RONDO_DEVICE void processStrided(const Ranges& ranges, size_t count, const Kernel& kernel, Share share) {
  constexpr size_t kElement = sizeof(typename Kernel::Bits);
  constexpr size_t kPerPack = kPackBytes / kElement;
  const size_t past = reinterpret_cast<uintptr_t>(ranges.out) % kPackBytes;
  const size_t head = past == 0 ? 0 : (kPackBytes - past) / kElement;
  const bool packed = agree(ranges, kPackBytes) && past % kElement == 0 && count >= head + kPerPack;
  const size_t packs = packed ? (count - head) / kPerPack : 0;
  processPackRange(advanced(ranges, packed ? head * kElement : 0), share(packs), kernel);
  // Without packs all elements; else head and tail, less than two packs: one pass of at most 30 lanes.
  processElementRange(ranges, {head, packs * kPerPack}, share(count - packs * kPerPack), kernel);
}

// --- the lane's part

struct TileShare {
  RONDO_DEVICE Part operator()(size_t count) const {
    const arch::Tile tile = arch::tile(count);
    return {tile.begin, tile.end, tile.stride};
  }
};

template <class Kernel>
RONDO_DEVICE void process(const Ranges& ranges, size_t count, const Kernel& kernel) {
  constexpr size_t kElement = sizeof(typename Kernel::Bits);
  const arch::Tile lane = arch::tile(count);
  if (lane.begin >= lane.end) return;
  if (lane.stride == 1) {
    const size_t mine = lane.end - lane.begin;
    processContiguous(announced(advanced(ranges, lane.begin * kElement), mine * kElement), mine, kernel);
  } else {
    processStrided(announced(ranges, count * kElement), count, kernel, TileShare{});
  }
}

}  // namespace rondo::lanes
