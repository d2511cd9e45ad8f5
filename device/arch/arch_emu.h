// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The seam on the emulated device. Contracts: arch.h. Every operation takes its call site as a last, defaulted argument:
// the lockstep model tells by it which lanes stand at the same call.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <type_traits>

#include "device/emu/grid.h"
#include "device/emu/launch.h"

#define RONDO_DEVICE inline
#define RONDO_KERNEL
#define RONDO_KERNEL_ARGS(Type, name) const Type& name

namespace rondo::arch {

using emu::Site;

inline emu::Lane& lane() { return *emu::currentLane; }

inline unsigned blockIndex() { return lane().wave->block().index(); }
inline unsigned blockCount() { return lane().wave->block().grid().spec.blocks; }
inline unsigned threadCount() { return lane().wave->block().grid().spec.threads; }
inline unsigned waveSize() { return lane().wave->size(); }
inline unsigned waveIndex() { return lane().wave->index(); }
inline unsigned waveCount() { return threadCount() / waveSize(); }
inline unsigned laneIndex() { return lane().index; }
inline bool oneLane() { return lane().index == 0; }

inline void syncBlock(Site site = Site::here()) { emu::stopLane(lane(), emu::Stop::kBlockBarrier, site); }
inline void syncWave(Site site = Site::here()) { emu::waveOperation(emu::WaveOperation::kSync, 0, 0, site); }
inline uint64_t ballot(bool value, Site site = Site::here()) {
  return emu::waveOperation(emu::WaveOperation::kBallot, value ? 1 : 0, 0, site);
}
template <class T>
T shuffle(T value, unsigned source, Site site = Site::here()) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  return static_cast<T>(
      emu::waveOperation(emu::WaveOperation::kShuffle, static_cast<uint64_t>(value), source, site));
}
inline uint32_t waveMin(uint32_t value, Site site = Site::here()) {
  return static_cast<uint32_t>(emu::waveOperation(emu::WaveOperation::kMin, value, 0, site));
}

class Reconverge {
 public:
  explicit Reconverge(Site site = Site::here()) : site_(site) { emu::enterScope(site_); }
  ~Reconverge() { emu::leaveScope(site_); }
  Reconverge(const Reconverge&) = delete;
  Reconverge& operator=(const Reconverge&) = delete;

 private:
  Site site_;
};

// Run mode executes each access on the host's memory model, which is at least as strong for every scope; the scope says
// to a checker which lanes an order reaches.
template <Scope scope>
uint64_t loadRelaxed(const Word& word, Site site = Site::here()) {
  emu::point(site);
  return emu::noteLoad(word.value, __atomic_load_n(&word.value, __ATOMIC_RELAXED));
}
template <Scope scope>
uint64_t loadAcquire(const Word& word, Site site = Site::here()) {
  emu::point(site);
  return emu::noteLoad(word.value, __atomic_load_n(&word.value, __ATOMIC_ACQUIRE));
}
template <Scope scope>
void storeRelaxed(Word& word, uint64_t value, Site site = Site::here()) {
  emu::point(site);
  emu::countStore();
  __atomic_store_n(&word.value, value, __ATOMIC_RELAXED);
}
template <Scope scope>
void storeRelease(Word& word, uint64_t value, Site site = Site::here()) {
  emu::point(site);
  emu::countStore();
  __atomic_store_n(&word.value, value, __ATOMIC_RELEASE);
}
template <Scope scope>
uint64_t fetchAdd(Word& word, uint64_t value, Site site = Site::here()) {
  emu::point(site);
  emu::countStore();
  return __atomic_fetch_add(&word.value, value, __ATOMIC_ACQ_REL);
}
inline void drainStores(Site site = Site::here()) { syncWave(site); }

template <class T>
const T* readRange(const T* range, size_t /*bytes*/, Site site = Site::here()) {
  emu::point(site);
  return range;
}
template <class T>
T* writeRange(T* range, size_t /*bytes*/, Site site = Site::here()) {
  emu::point(site);
  emu::countStore();
  return range;
}

// Blocked: each lane takes one contiguous part. A worker wave that is one fiber takes the whole range.
struct Tile {
  size_t begin;
  size_t end;
  static constexpr size_t stride = 1;
};
inline Tile tile(size_t count) {
  const emu::Lane& self = lane();
  if (self.alone) return {0, count};
  const size_t part = (count + self.wave->size() - 1) / self.wave->size();
  const size_t begin = part * self.index < count ? part * self.index : count;
  return {begin, begin + part < count ? begin + part : count};
}

template <class T>
T* blockShared() {
  static_assert(std::is_trivial_v<T> && sizeof(T) <= emu::kSharedMemoryBytes && alignof(T) <= 128);
  return static_cast<T*>(lane().wave->block().shared());
}

inline Pair64 load128(const Pair64* from, Site site = Site::here()) {
  emu::point(site);
  return {emu::noteLoad(from->low, __atomic_load_n(&from->low, __ATOMIC_RELAXED)),
          emu::noteLoad(from->high, __atomic_load_n(&from->high, __ATOMIC_RELAXED))};
}
inline void store128(Pair64* to, Pair64 value, Site site = Site::here()) {
  emu::point(site);
  emu::countStore();
  __atomic_store_n(&to->low, value.low, __ATOMIC_RELAXED);
  __atomic_store_n(&to->high, value.high, __ATOMIC_RELAXED);
}
// The emulated device promises no whole lines: lanes store their parts one after another.
constexpr bool kLine128Whole = false;
inline void storeLine128(Pair64* line, Pair64 mine, unsigned sublane, Site site = Site::here()) {
  store128(line + sublane, mine, site);
}

inline void spinPause(Site site = Site::here()) { emu::stopLane(lane(), emu::Stop::kPause, site); }
inline uint64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
[[noreturn]] inline void trap() { emu::deviceFault(*lane().wave, "trap"); }

template <class Args>
int launchKernel(void (*kernel)(const Args&), const LaunchShape& shape, const Args& args, cudaStream_t stream) {
  return emu::launch(shape.blocks, shape.threads, shape.laneWaves, [kernel, args] { kernel(args); }, stream);
}

}  // namespace rondo::arch
