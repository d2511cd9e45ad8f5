// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// prepareRange and reduceRange: the wave-level arithmetic of worker waves, for every data type and operator. Stateless.
// Any byte alignment; no byte outside the ranges is touched. Results have the same bits on every device and for every
// alignment, split into lanes and number of outputs:
//  - Integer sums and products wrap modulo 2^bits.
//  - Floating sums and products are rounded once per step to the data type, to nearest, ties to even; half and bfloat16
//    compute in float, which gives the same. Subnormals are kept. Nothing is fused into a multiply-add.
//  - A NaN in either input makes the result NaN, for min and max as well, so that it does not matter which rank has it;
//    every NaN that an operator yields is the type's positive quiet NaN without payload (0x7e00, 0x7fc0, 0x7fc00000,
//    0x7ff8000000000000). prepareRange passes elements through unchanged unless the operator is a floating average.
//  - Min and max order -0 before +0.
//  - Average, floating: every contribution is multiplied by 1/ranks (rounded to the data type) and rounded, then summed.
//    Average, integer: the wrapped sum of all ranks, read in the type's sign, divided, truncating toward zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/arch/arch.h"
#include "device/primitives/copy.h"
#include "device/primitives/lane_loops.h"
#include "device/primitives/numbers.h"
#include "device/shared/types.h"

namespace rondo {

namespace lanes {

constexpr size_t kBlockBytes = 512;

template <class Combiner>
struct ReduceKernel {
  using Bits = typename Combiner::Bits;
  static constexpr bool kReceives = true;
  static constexpr size_t kInFlight = Combiner::kCostly ? 1 : kMostInFlight<Bits>;
  static constexpr size_t kBlock = kBlockBytes / sizeof(Bits);
  Combiner combine;
  RONDO_DEVICE Bits operator()(Bits received, Bits own) const { return combine(received, own); }
};

template <class Format>
struct ScaleKernel {
  using Bits = typename Format::Bits;
  static constexpr bool kReceives = false;
  static constexpr size_t kInFlight = kMostInFlight<Bits>;
  static constexpr size_t kBlock = kBlockBytes / sizeof(Bits);
  Scale<Format> scale;
  RONDO_DEVICE Bits operator()(Bits, Bits own) const { return scale(own); }
};

// The loops of one operation: a visitor that dispatch() calls with the chosen combiner.
struct ReduceLoop {
  Ranges ranges;
  size_t bytes;

  template <class Combiner>
  RONDO_DEVICE void run(const Combiner& combiner) const {
    process(ranges, bytes / sizeof(typename Combiner::Bits), ReduceKernel<Combiner>{combiner});
  }
};

// Sums and products do not depend on the sign; they are instantiated for the unsigned format.
template <class T, class Loop>
RONDO_DEVICE void dispatchInteger(const Reduction& reduction, bool last, const Loop& loop) {
  using Format = IntegerFormat<T>;
  using Wrapping = IntegerFormat<typename Format::Bits>;
  switch (reduction.op) {
    case RedOp::kProd:
      return loop.run(Product<Wrapping>{});
    case RedOp::kMax:
      return loop.run(Extreme<Format, true>{});
    case RedOp::kMin:
      return loop.run(Extreme<Format, false>{});
    case RedOp::kSum:
      return loop.run(Sum<Wrapping>{});
    case RedOp::kAvg:
      return last ? loop.run(DividedSum<Format>{reduction.ranks}) : loop.run(Sum<Wrapping>{});
  }
}

template <class Format, class Loop>
RONDO_DEVICE void dispatchFloating(const Reduction& reduction, const Loop& loop) {
  switch (reduction.op) {
    case RedOp::kSum:
      return loop.run(Sum<Format>{});
    case RedOp::kProd:
      return loop.run(Product<Format>{});
    case RedOp::kMax:
      return loop.run(FloatExtreme<Format, true>{});
    case RedOp::kMin:
      return loop.run(FloatExtreme<Format, false>{});
    case RedOp::kAvg:
      return loop.run(ScaledSum<Format>{Scale<Format>(reduction.ranks)});
  }
}

template <class Loop>
RONDO_DEVICE void dispatch(const Reduction& reduction, bool last, const Loop& loop) {
  switch (reduction.type) {
    case DataType::kInt8:
      return dispatchInteger<int8_t>(reduction, last, loop);
    case DataType::kUint8:
      return dispatchInteger<uint8_t>(reduction, last, loop);
    case DataType::kInt32:
      return dispatchInteger<int32_t>(reduction, last, loop);
    case DataType::kUint32:
      return dispatchInteger<uint32_t>(reduction, last, loop);
    case DataType::kInt64:
      return dispatchInteger<int64_t>(reduction, last, loop);
    case DataType::kUint64:
      return dispatchInteger<uint64_t>(reduction, last, loop);
    case DataType::kFloat16:
      return dispatchFloating<Float16Format>(reduction, loop);
    case DataType::kFloat32:
      return dispatchFloating<Float32Format>(reduction, loop);
    case DataType::kFloat64:
      return dispatchFloating<Float64Format>(reduction, loop);
    case DataType::kBfloat16:
      return dispatchFloating<Bfloat16Format>(reduction, loop);
  }
}

template <class Format>
RONDO_DEVICE void scaleRange(const Reduction& reduction, char* out, const char* own, size_t bytes) {
  const Ranges ranges = {out, nullptr, nullptr, own};
  process(ranges, bytes / sizeof(typename Format::Bits), ScaleKernel<Format>{Scale<Format>(reduction.ranks)});
}

}  // namespace lanes

// This rank's contribution as it enters the ring: out[i] = prepare(own[i]). out may equal own. bytes is a multiple of
// the element size. All lanes of the wave call it together.
RONDO_OUTLINED void prepareRange(const Reduction& reduction, char* out, const char* own, size_t bytes) {
  if (reduction.op != RedOp::kAvg) return copyRange(out, nullptr, own, bytes);
  switch (reduction.type) {
    case DataType::kFloat16:
      return lanes::scaleRange<Float16Format>(reduction, out, own, bytes);
    case DataType::kFloat32:
      return lanes::scaleRange<Float32Format>(reduction, out, own, bytes);
    case DataType::kFloat64:
      return lanes::scaleRange<Float64Format>(reduction, out, own, bytes);
    case DataType::kBfloat16:
      return lanes::scaleRange<Bfloat16Format>(reduction, out, own, bytes);
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
      return copyRange(out, nullptr, own, bytes);
  }
}

// out[i] = received[i] op prepare(own[i]), also to secondOut unless it is null. last: this is the last of the ring's
// ranks, whose result is final (an integer average is divided). Each output may equal either input; no other overlap.
// bytes is a multiple of the element size. All lanes of the wave call it together.
RONDO_OUTLINED void reduceRange(const Reduction& reduction, char* out, char* secondOut, const char* received,
                              const char* own, size_t bytes, bool last) {
  lanes::dispatch(reduction, last, lanes::ReduceLoop{{out, secondOut, received, own}, bytes});
}

}  // namespace rondo
