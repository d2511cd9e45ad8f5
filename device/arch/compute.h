// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The seam's arithmetic: what compilers do differently on each target. Conversions of the 16-bit floating types are one
// instruction on some targets and integer arithmetic on others; rounded products are never contracted into a fused
// multiply-add. Every function gives the same bits on every target for every argument that is not a NaN; callers
// (device/primitives/numbers.h) replace NaN results by the canonical one. Stateless; any thread.
//
// RONDO_ROLLED                               before a loop that must not be unrolled: one kernel holds all types and
//                                            operators, so code for the rare paths is kept small on GPUs
// RONDO_UNROLLED                             before a loop that must be: it indexes an array that is to be in registers
// RONDO_OUTLINED                             qualifier of a device function that a kernel should hold once, however often
//                                            it is called
// float halfToFloat(uint16_t)                exact
// uint32_t floatToHalf(float)                to nearest, ties to even; in the low 16 bits
// uint32_t floatToBfloat16(float)            likewise
// float / double multiplyRounded(a, b)       the product rounded once, whatever is done with it
// Bits select(condition, yes, no)            one of two unsigned integers, without a branch
#pragma once

#include <cstdint>

#include "device/arch/arch.h"

#if defined(RONDO_TARGET_CUDA)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace rondo::arch {

#if defined(RONDO_TARGET_CUDA) || defined(RONDO_TARGET_HIP)
#define RONDO_ROLLED _Pragma("unroll 1")
#define RONDO_UNROLLED _Pragma("unroll")
#if defined(RONDO_TARGET_CUDA)
#define RONDO_OUTLINED __device__ __noinline__ inline
#else
// Calls cost an AMD kernel its register budget (the callee's is not known), and hipcc inlines everything by default.
#define RONDO_OUTLINED RONDO_DEVICE
#endif
template <class Bits>
RONDO_DEVICE Bits select(bool condition, Bits yes, Bits no) {
  return condition ? yes : no;
}
#else
#define RONDO_ROLLED
#define RONDO_UNROLLED
#define RONDO_OUTLINED inline
// By masks: a conditional expression would let the compiler move floating arithmetic into one of its arms, where it can
// no longer vectorise it. For 8 bytes the conditional expression is the one that is vectorised.
template <class Bits>
RONDO_DEVICE Bits select(bool condition, Bits yes, Bits no) {
  if constexpr (sizeof(Bits) == 8) return condition ? yes : no;
  const Bits mask = static_cast<Bits>(-static_cast<Bits>(condition));
  return static_cast<Bits>((yes & mask) | (no & ~mask));
}
#endif

#if defined(RONDO_TARGET_CUDA)

RONDO_DEVICE float halfToFloat(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
RONDO_DEVICE uint32_t floatToHalf(float value) { return __half_as_ushort(__float2half_rn(value)); }
RONDO_DEVICE uint32_t floatToBfloat16(float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); }
// The _rn intrinsics are exempt from contraction whatever -fmad says.
RONDO_DEVICE float multiplyRounded(float a, float b) { return __fmul_rn(a, b); }
RONDO_DEVICE double multiplyRounded(double a, double b) { return __dmul_rn(a, b); }

#else

#if defined(RONDO_TARGET_HIP)

// v_cvt_f32_f16 and v_cvt_f16_f32: subnormals are kept and ties go to even in the mode that HIP kernels start in.
RONDO_DEVICE float halfToFloat(uint16_t bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
RONDO_DEVICE uint32_t floatToHalf(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}

#else

// Both are written without branches, so that loops over them are vectorised (SSE2 has no variable shift, so subnormals
// go through float arithmetic, which is exact here).
RONDO_DEVICE float halfToFloat(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fffu;
  const uint32_t sign = (bits & 0x8000u) << 16;
  const float subnormal = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  const uint32_t rebias = select(magnitude >= 0x7c00u, (2u * 112u) << 23, 112u << 23);
  const uint32_t normal = (magnitude << 13) + rebias;
  const uint32_t result = select(magnitude < 0x0400u, __builtin_bit_cast(uint32_t, subnormal), normal);
  return __builtin_bit_cast(float, result | sign);
}

RONDO_DEVICE uint32_t floatToHalf(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const int32_t compared = static_cast<int32_t>(magnitude);  // a signed compare is one instruction
  const uint32_t sign = (bits >> 16) & 0x8000u;
  // Below 2^-14 the unit of a half is 2^-24, which is also that of a float in [0.5, 1): the addition rounds for us.
  const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  // The carry of rounding up reaches the exponent, and from the greatest half infinity, as it should.
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  const uint32_t finite = select(compared < 0x38800000, subnormal, normal);
  return select(compared >= 0x47800000, 0x7c00u, finite) | sign;
}

#endif

RONDO_DEVICE uint32_t floatToBfloat16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// Built with -ffp-contract=off (cmake/RondoDevice.cmake); clang also honours the pragma.
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
RONDO_DEVICE float multiplyRounded(float a, float b) { return a * b; }
RONDO_DEVICE double multiplyRounded(double a, double b) { return a * b; }
#if defined(__clang__)
#pragma clang fp contract(on)
#endif

#endif

}  // namespace rondo::arch
