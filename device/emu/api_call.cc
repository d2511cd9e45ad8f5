// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/api_call.h"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "device/emu/device.h"
#include "device/emu/options.h"

namespace rondo::emu {
namespace {

thread_local cudaError_t threadLastError = cudaSuccess;
thread_local char threadDetail[256] = "";

std::atomic<bool> forked{false};

// A forked child has none of the stream threads, and locks may be held for ever in it.
void watchForks() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)watching;
}

}  // namespace

cudaError_t failCall(cudaError_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(threadDetail, sizeof threadDetail, format, arguments);
  va_end(arguments);
  return code;
}

const char* callDetail() {
  return threadDetail;
}

void beginCall() {
  threadDetail[0] = '\0';
}

cudaError_t mayCall() {
  watchForks();
  if (forked.load(std::memory_order_relaxed)) {
    return failCall(cudaErrorInitializationError, "the process was forked after its first call of the runtime");
  }
  if (!options().valid) return failCall(cudaErrorInitializationError, "a RONDO_EMU_ variable is wrong, see stderr");
  if (Stream::onStreamThread()) {
    return failCall(cudaErrorNotPermitted, "a function that runs on a stream must not call the runtime");
  }
  return cudaSuccess;
}

cudaError_t noteError(cudaError_t code) {
  if (code != cudaSuccess && code != cudaErrorNotReady) threadLastError = code;
  return code;
}

cudaError_t lastError() {
  return threadLastError;
}
void clearLastError() {
  threadLastError = cudaSuccess;
}

cudaError_t deviceFailure() {
  const Device* used = deviceIfUsed(currentDevice());  // asking must not make it
  return used != nullptr ? used->failure() : cudaSuccess;
}

}  // namespace rondo::emu
