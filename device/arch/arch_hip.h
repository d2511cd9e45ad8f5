// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The seam on AMD GPUs (wavefronts of 64 lanes on gfx9, of 32 on gfx10 and later); the contract of every operation
// stands in arch.h, which includes this file. Memory operations are clang's scoped atomics, which follow LLVM's AMDGPU
// memory model: it says which waits, cache write-backs and invalidates each order and scope needs on each chip.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>

#define RONDO_DEVICE __device__ __forceinline__
#define RONDO_KERNEL __global__ __launch_bounds__(640)
#define RONDO_KERNEL_ARGS(Type, name) const Type name

namespace rondo::arch {

// The host pass parses device code without compiling it; there the value has no meaning.
#if defined(__AMDGCN_WAVEFRONT_SIZE__)
constexpr unsigned kWaveSize = __AMDGCN_WAVEFRONT_SIZE__;
#elif defined(__AMDGCN_WAVEFRONT_SIZE)
constexpr unsigned kWaveSize = __AMDGCN_WAVEFRONT_SIZE;
#elif defined(__HIP_DEVICE_COMPILE__)
#error "the compiler does not say how many lanes a wavefront has"
#else
constexpr unsigned kWaveSize = 64;
#endif

#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
// Their wave64 mode permutes within halves only (shuffle) and is nobody's default.
static_assert(kWaveSize == 32, "build gfx10 and later with wavefronts of 32 lanes");
#endif

// --- identity (blocks and grids have one dimension)

RONDO_DEVICE unsigned blockIndex() { return blockIdx.x; }
RONDO_DEVICE unsigned blockCount() { return gridDim.x; }
RONDO_DEVICE unsigned threadCount() { return blockDim.x; }
RONDO_DEVICE unsigned waveSize() { return kWaveSize; }
// The index is the same on all lanes; saying so keeps what depends on it in scalar registers and branches.
RONDO_DEVICE unsigned waveIndex() { return __builtin_amdgcn_readfirstlane(threadIdx.x / kWaveSize); }
RONDO_DEVICE unsigned waveCount() { return blockDim.x / kWaveSize; }
RONDO_DEVICE unsigned laneIndex() { return threadIdx.x % kWaveSize; }
RONDO_DEVICE bool oneLane() { return laneIndex() == 0; }

// --- convergence

RONDO_DEVICE void syncBlock() { __syncthreads(); }

// A wavefront issues its lanes' accesses in program order, so only the compiler must be held back.
RONDO_DEVICE void syncWave() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

RONDO_DEVICE uint64_t ballot(bool value) { return __ballot(value ? 1 : 0); }

RONDO_DEVICE uint32_t permute(uint32_t value, unsigned lane) {
  return static_cast<uint32_t>(__builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), static_cast<int>(value)));
}

template <class T>
RONDO_DEVICE T shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffle takes integers of 4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(permute(static_cast<uint32_t>(value), lane));
  } else {
    const uint64_t bits = static_cast<uint64_t>(value);
    const uint64_t high = permute(static_cast<uint32_t>(bits >> 32), lane);
    return static_cast<T>(high << 32 | permute(static_cast<uint32_t>(bits), lane));
  }
}

RONDO_DEVICE uint32_t waveMin(uint32_t value) {
  for (unsigned distance = kWaveSize / 2; distance != 0; distance /= 2) {
    const uint32_t other = permute(value, laneIndex() ^ distance);
    value = other < value ? other : value;
  }
  return value;
}

struct Reconverge {
  RONDO_DEVICE Reconverge() {}
  RONDO_DEVICE ~Reconverge() {}
};

// --- words

template <Scope kScope>
constexpr int kMemoryScope = kScope == Scope::kBlock    ? __HIP_MEMORY_SCOPE_WORKGROUP
                             : kScope == Scope::kDevice ? __HIP_MEMORY_SCOPE_AGENT
                                                        : __HIP_MEMORY_SCOPE_SYSTEM;

template <Scope kScope>
RONDO_DEVICE uint64_t loadRelaxed(const Word& word) {
  return __hip_atomic_load(&word.value, __ATOMIC_RELAXED, kMemoryScope<kScope>);
}
template <Scope kScope>
RONDO_DEVICE uint64_t loadAcquire(const Word& word) {
  return __hip_atomic_load(&word.value, __ATOMIC_ACQUIRE, kMemoryScope<kScope>);
}
template <Scope kScope>
RONDO_DEVICE void storeRelaxed(Word& word, uint64_t value) {
  __hip_atomic_store(&word.value, value, __ATOMIC_RELAXED, kMemoryScope<kScope>);
}
template <Scope kScope>
RONDO_DEVICE void storeRelease(Word& word, uint64_t value) {
  __hip_atomic_store(&word.value, value, __ATOMIC_RELEASE, kMemoryScope<kScope>);
}
template <Scope kScope>
RONDO_DEVICE uint64_t fetchAdd(Word& word, uint64_t value) {
  return __hip_atomic_fetch_add(&word.value, value, __ATOMIC_ACQ_REL, kMemoryScope<kScope>);
}

// A release waits for the stores of its own wavefront only (the counters are per wavefront), and at workgroup scope the
// compiler may even leave that wait out, since waves of one CU share a write-through first-level cache. So each wave
// waits here until its stores, of all its lanes, have reached the second-level cache (and LDS). From there a later
// release by any wave of the device covers them: at agent scope nothing is left to do, at system scope it writes the
// second-level cache back as a whole, whoever filled it. Stores count in vmcnt on gfx9, in vscnt on gfx10 and gfx11, in
// storecnt on gfx12.
RONDO_DEVICE void drainStores() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
#if defined(__HIP_DEVICE_COMPILE__)
#if defined(__GFX9__)
  asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__)
  asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_waitcnt_vscnt null, 0x0" ::: "memory");
#elif defined(__GFX12__)
  asm volatile("s_wait_loadcnt 0x0\n\ts_wait_storecnt 0x0\n\ts_wait_dscnt 0x0" ::: "memory");
#else
#error "drainStores: unknown AMD target; say which counters its stores use"
#endif
#endif
  syncWave();
}

// --- payload

template <class T>
RONDO_DEVICE const T* readRange(const T* begin, size_t) {
  return begin;
}
template <class T>
RONDO_DEVICE T* writeRange(T* begin, size_t) {
  return begin;
}

struct Tile {
  size_t begin;
  size_t end;
  static constexpr size_t stride = kWaveSize;
};
RONDO_DEVICE Tile tile(size_t count) { return {laneIndex(), count}; }

// One array for each T that a kernel uses; T needs no constructor, nothing runs here.
template <class T>
RONDO_DEVICE T* blockShared() {
  alignas(alignof(T) < 16 ? 16 : alignof(T)) __shared__ unsigned char storage[sizeof(T)];
  return reinterpret_cast<T*>(storage);
}

// --- flag-in-data lines

// Two 8-byte atomics each: no line is promised to arrive whole.
constexpr bool kLine128Whole = false;

RONDO_DEVICE Pair64 load128(const Pair64* address) {
  Pair64 pair;
  pair.low = __hip_atomic_load(&address->low, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  pair.high = __hip_atomic_load(&address->high, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  return pair;
}
RONDO_DEVICE void store128(Pair64* address, Pair64 pair) {
  __hip_atomic_store(&address->low, pair.low, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(&address->high, pair.high, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
RONDO_DEVICE void storeLine128(Pair64* line, Pair64 mine, unsigned sublane) { store128(line + sublane, mine); }

// --- waiting

// 64 clocks in which the other wavefronts of the SIMD have the issue slots.
RONDO_DEVICE void spinPause() { __builtin_amdgcn_s_sleep(1); }

// The real-time counter: constant 100 MHz on gfx9 and gfx10 (hipDeviceAttributeWallClockRate says 100000 kHz), so its
// resolution is 10 ns. gfx11 and later read it by a message.
RONDO_DEVICE uint64_t clock_ns() {
  constexpr uint64_t kTick_ns = 10;
#if defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_s_sendmsg_rtnl(0x83) * kTick_ns;
#else
  return __builtin_amdgcn_s_memrealtime() * kTick_ns;
#endif
}

[[noreturn]] RONDO_DEVICE void trap() {
  __builtin_trap();
  __builtin_unreachable();
}

// --- launch

// args is passed by value to kernel(Args). In a file compiled as HIP.
template <class Args>
inline int launchKernel(void (*kernel)(Args), LaunchShape shape, const Args& args, hipStream_t stream) {
  void* pointers[] = {const_cast<Args*>(&args)};
  return static_cast<int>(hipLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(shape.blocks),
                                          dim3(shape.threads), pointers, 0, stream));
}

}  // namespace rondo::arch
