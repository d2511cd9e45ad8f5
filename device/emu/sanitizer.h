// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What the address and thread sanitizers must be told when a fiber switches stacks; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RONDO_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define RONDO_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define RONDO_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define RONDO_TSAN 1
#endif

#if defined(RONDO_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(RONDO_TSAN)
#include <sanitizer/tsan_interface.h>
#define RONDO_NO_TSAN __attribute__((noinline, no_sanitize("thread")))
#else
#define RONDO_NO_TSAN
#endif

namespace rondo::emu::sanitizer {

#if defined(RONDO_ASAN)
constexpr bool kLargeStacks = true;
inline void beforeSwitch(void** fakeStack, const void* stack, size_t bytes) {
  __sanitizer_start_switch_fiber(fakeStack, stack, bytes);
}
inline void afterSwitch(void* fakeStack, const void** oldStack, size_t* oldBytes) {
  __sanitizer_finish_switch_fiber(fakeStack, oldStack, oldBytes);
}
#else
#if defined(RONDO_TSAN)
constexpr bool kLargeStacks = true;
#else
constexpr bool kLargeStacks = false;
#endif
inline void beforeSwitch(void**, const void*, size_t) {}
inline void afterSwitch(void*, const void**, size_t*) {}
#endif

}  // namespace rondo::emu::sanitizer
