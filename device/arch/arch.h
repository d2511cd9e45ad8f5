// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The seam: everything device code needs that differs between targets, each operation with its contract. Included by
// all device code; implemented by arch_cuda.h, arch_hip.h and arch_emu.h with the same names in namespace rondo::arch.
// Adding an operation means: contract here, three implementations, a test in tests/arch that runs on every device.
//
// Vocabulary: a wave is a CUDA warp or an AMD wavefront of waveSize() lanes (32 or 64). "Converged" means that all lanes
// of the wave that have not returned from the kernel call the operation together.
//
// RONDO_DEVICE     qualifier of a device function
// RONDO_KERNEL     qualifier of a kernel entry
//
// --- identity
// unsigned blockIndex(), blockCount()      this block, blocks of the grid
// unsigned threadCount()                   threads of the block, a multiple of waveSize()
// unsigned waveSize()                      32 or 64
// unsigned waveIndex(), waveCount()        this wave in its block, waves of the block
// unsigned laneIndex()                     this lane in its wave; worker code uses it only through tile() and oneLane()
// bool oneLane()                           true on exactly one lane of the wave (lane 0)
//
// --- convergence
// void syncBlock()            all threads of the block; orders all their memory accesses (Scope::Block)
// void syncWave()             converged; orders the wave's memory accesses among its lanes
// uint64_t ballot(bool)       converged; bit i is lane i's value; orders nothing
// T shuffle(T, lane)          converged; lane's value on every lane; T is a 4 or 8 byte integer; orders nothing
// uint32_t waveMin(uint32_t)  converged; the least value of the wave's lanes, on every lane; orders nothing
// Reconverge scope;           an object around every 'if' or loop that only some lanes may enter and that holds seam
//                             operations: lanes that entered its scope together are expected together at its end. Empty
//                             on GPUs; on the emulated device the lockstep model joins lanes there.
//
// --- words (64-bit, naturally aligned, in any memory). Scope says which threads must see the order: Block, Device
//     (one GPU) or System (other GPUs, host, NIC).
// uint64_t loadRelaxed<Scope>(const Word&)         one untorn load that other threads' stores eventually reach
// uint64_t loadAcquire<Scope>(const Word&)         and later accesses of this lane come after it
// void storeRelaxed<Scope>(Word&, uint64_t)
// void storeRelease<Scope>(Word&, uint64_t)        this lane's earlier accesses, and those it has seen by an acquire or a
//                                                  syncWave, come before it
// uint64_t fetchAdd<Scope>(Word&, uint64_t)        acquire and release; returns the old value
// void drainStores()          converged; after it, a release by one lane of *this or another* wave that acquired from
//                             this wave covers the stores made by all lanes of this wave before it
//
// --- payload (plain memory; ordered only by the operations above; each range announced before it is touched)
// const T* readRange(const T*, bytes)    this lane is about to read these bytes through the returned pointer
// T* writeRange(T*, bytes)               this lane is about to write these bytes through the returned pointer
// Tile tile(count)                       the part of [0, count) that this lane handles when the wave shares the range:
//                                        for (i = t.begin; i < t.end; i += t.stride); strided on GPUs, blocked elsewhere
// template <T> T* blockShared<T>()       one T per block in shared memory, not initialised; one type per kernel
//
// --- flag-in-data lines (16-byte aligned; each 8-byte half is atomic, the pair is not)
// Pair64 load128(const Pair64*)          relaxed, Scope::System
// void store128(Pair64*, Pair64)         relaxed, Scope::System
// bool kLine128Whole                     whether storeLine128 is seen whole or not at all by a reader that loads the line
//                                        with the same wave-wide access
// void storeLine128(Pair64* line, Pair64 mine, unsigned sublane)
//                                        8 consecutive lanes store one 128-byte line together, sublane 0..7 its 16 bytes
//
// --- waiting
// void spinPause()            called once in every pass of every polling loop
// uint64_t clock_ns()         nanoseconds, monotone per device
// [[noreturn]] void trap()    ends the kernel with an error; tests only
//
// --- launch (host side; declared by each implementation)
// launchKernel(kernel, LaunchShape, args, stream)   enqueues kernel(args); throws nothing, returns the vendor's code
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/shared/types.h"
#include "device/shared/word.h"

namespace rondo::arch {

enum class Scope { kBlock, kDevice, kSystem };

struct alignas(16) Pair64 {
  uint64_t low;
  uint64_t high;
};

struct LaunchShape {
  unsigned blocks;
  unsigned threads;     // per block, a multiple of waveSize()
  unsigned laneWaves;   // waves [0, laneWaves) use lanes individually; the others are worker waves whose code is
                        // lane-uniform (the emulated device runs such a wave as one fiber)
};

}  // namespace rondo::arch

#if defined(RONDO_TARGET_CUDA)
#include "device/arch/arch_cuda.h"
#elif defined(RONDO_TARGET_HIP)
#include "device/arch/arch_hip.h"
#elif defined(RONDO_TARGET_EMU)
#include "device/arch/arch_emu.h"
#else
#error "no device target: define RONDO_TARGET_CUDA, RONDO_TARGET_HIP or RONDO_TARGET_EMU"
#endif
