// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The seam on NVIDIA GPUs (sm_80 and later); the contract of every operation stands in arch.h, which includes this file.
// Memory operations are PTX with explicit scopes (PTX ISA, "Memory Consistency Model"), on generic addresses, so that a
// Word may lie in global, shared or host memory. All asm that touches memory is volatile and clobbers memory: the
// compiler moves no access across it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#define RONDO_DEVICE __device__ __forceinline__
// The bound on a block's threads gives a lane up to 96 registers.
#define RONDO_KERNEL __global__ __launch_bounds__(640)
// Kernel parameters stay where the launch puts them; no lane copies them.
#define RONDO_KERNEL_ARGS(Type, name) const __grid_constant__ Type name

namespace rondo::arch {

constexpr uint32_t kAllLanes = 0xffffffffu;
constexpr unsigned kWaveSize = 32;

// --- identity (blocks and grids have one dimension)

RONDO_DEVICE unsigned blockIndex() { return blockIdx.x; }
RONDO_DEVICE unsigned blockCount() { return gridDim.x; }
RONDO_DEVICE unsigned threadCount() { return blockDim.x; }
RONDO_DEVICE unsigned waveSize() { return kWaveSize; }
RONDO_DEVICE unsigned waveIndex() { return threadIdx.x / kWaveSize; }
RONDO_DEVICE unsigned waveCount() { return blockDim.x / kWaveSize; }
RONDO_DEVICE unsigned laneIndex() { return threadIdx.x % kWaveSize; }
RONDO_DEVICE bool oneLane() { return laneIndex() == 0; }

// --- convergence

RONDO_DEVICE void syncBlock() { __syncthreads(); }
RONDO_DEVICE void syncWave() { __syncwarp(kAllLanes); }
RONDO_DEVICE uint64_t ballot(bool value) { return __ballot_sync(kAllLanes, value); }

template <class T>
RONDO_DEVICE T shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffle takes integers of 4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__shfl_sync(kAllLanes, static_cast<unsigned>(value), static_cast<int>(lane)));
  } else {
    return static_cast<T>(__shfl_sync(kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(lane)));
  }
}

RONDO_DEVICE uint32_t waveMin(uint32_t value) { return __reduce_min_sync(kAllLanes, value); }

struct Reconverge {
  RONDO_DEVICE Reconverge() {}
  RONDO_DEVICE ~Reconverge() {}
};

// --- words

template <Scope kScope>
RONDO_DEVICE uint64_t loadRelaxed(const Word& word) {
  uint64_t value;
  if constexpr (kScope == Scope::kBlock) {
    asm volatile("ld.relaxed.cta.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  } else if constexpr (kScope == Scope::kDevice) {
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  } else {
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  }
  return value;
}

template <Scope kScope>
RONDO_DEVICE uint64_t loadAcquire(const Word& word) {
  uint64_t value;
  if constexpr (kScope == Scope::kBlock) {
    asm volatile("ld.acquire.cta.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  } else if constexpr (kScope == Scope::kDevice) {
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  } else {
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(&word.value) : "memory");
  }
  return value;
}

template <Scope kScope>
RONDO_DEVICE void storeRelaxed(Word& word, uint64_t value) {
  if constexpr (kScope == Scope::kBlock) {
    asm volatile("st.relaxed.cta.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  } else if constexpr (kScope == Scope::kDevice) {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  } else {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  }
}

template <Scope kScope>
RONDO_DEVICE void storeRelease(Word& word, uint64_t value) {
  if constexpr (kScope == Scope::kBlock) {
    asm volatile("st.release.cta.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  } else if constexpr (kScope == Scope::kDevice) {
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  } else {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(&word.value), "l"(value) : "memory");
  }
}

template <Scope kScope>
RONDO_DEVICE uint64_t fetchAdd(Word& word, uint64_t value) {
  uint64_t old;
  if constexpr (kScope == Scope::kBlock) {
    asm volatile("atom.add.acq_rel.cta.u64 %0, [%1], %2;" : "=l"(old) : "l"(&word.value), "l"(value) : "memory");
  } else if constexpr (kScope == Scope::kDevice) {
    asm volatile("atom.add.acq_rel.gpu.u64 %0, [%1], %2;" : "=l"(old) : "l"(&word.value), "l"(value) : "memory");
  } else {
    asm volatile("atom.add.acq_rel.sys.u64 %0, [%1], %2;" : "=l"(old) : "l"(&word.value), "l"(value) : "memory");
  }
  return old;
}

// __syncwarp (bar.warp.sync) is enough. In the PTX model a barrier makes the accesses of every participating thread before
// it happen before those of every participating thread after it, and causality order is transitive. So the stores of all
// lanes come before the releasing lane's release; a release is cumulative over everything ordered before it, whichever
// thread stored it, and so is a later release, at any scope, by a thread of another warp that acquired this one.
RONDO_DEVICE void drainStores() { __syncwarp(kAllLanes); }

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

// A warp's 16-byte accesses to consecutive addresses go to memory as whole 128-byte lines.
constexpr bool kLine128Whole = true;

RONDO_DEVICE Pair64 load128(const Pair64* address) {
  Pair64 pair;
  asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];" : "=l"(pair.low), "=l"(pair.high) : "l"(address) : "memory");
  return pair;
}
RONDO_DEVICE void store128(Pair64* address, Pair64 pair) {
  asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(pair.low), "l"(pair.high) : "memory");
}
RONDO_DEVICE void storeLine128(Pair64* line, Pair64 mine, unsigned sublane) { store128(line + sublane, mine); }

// --- waiting

// Polls go over NVLink or to L2 and take their time; a pause would add to the latency and free nothing.
RONDO_DEVICE void spinPause() {}

RONDO_DEVICE uint64_t clock_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

[[noreturn]] RONDO_DEVICE void trap() {
  __trap();
  __builtin_unreachable();
}

// --- launch

// args is passed by value to kernel(Args). In a file compiled by nvcc.
template <class Args>
inline int launchKernel(void (*kernel)(Args), LaunchShape shape, const Args& args, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.stream = stream;
  void* pointers[] = {const_cast<Args*>(&args)};
  return static_cast<int>(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers));
}

}  // namespace rondo::arch
