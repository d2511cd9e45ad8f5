// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Word: a counter or flag that host threads, proxy threads and kernels of several ranks touch concurrently. It lies in
// device memory, in pinned host memory or in a block's shared memory. Device code uses it through device/arch only;
// host threads use the functions below. 64 bits, so that step counters never wrap (DESIGN: the FIFO contract).
#pragma once

#include <cstdint>

namespace rondo {

struct alignas(8) Word {
  uint64_t value;
};
static_assert(sizeof(Word) == 8);

// Host side. Each pairs with the seam's operation of the same name in device/arch (Scope::System).
inline uint64_t hostLoadAcquire(const Word& word) { return __atomic_load_n(&word.value, __ATOMIC_ACQUIRE); }
inline uint64_t hostLoadRelaxed(const Word& word) { return __atomic_load_n(&word.value, __ATOMIC_RELAXED); }
inline void hostStoreRelease(Word& word, uint64_t value) { __atomic_store_n(&word.value, value, __ATOMIC_RELEASE); }
inline void hostStoreRelaxed(Word& word, uint64_t value) { __atomic_store_n(&word.value, value, __ATOMIC_RELAXED); }

}  // namespace rondo
