// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The edge of the emulated runtime: every exported function runs its body through apiCall(), which refuses calls that
// cannot work, turns exceptions into codes and keeps the calling thread's last error and its detail.
#pragma once

#include <cuda_runtime.h>

#include <new>
#include <system_error>
#include <utility>

namespace rondo::emu {

// Sets the detail of this thread's current call (printf's format) and returns code.
[[gnu::format(printf, 2, 3)]] cudaError_t failCall(cudaError_t code, const char* format, ...);
const char* callDetail();

// cudaSuccess, or why no call can work: wrong settings, a forked child, inside a stream's task.
cudaError_t mayCall();
// Starts a call: forgets the detail of the one before.
void beginCall();
// Keeps an error for takeLastError(); cudaErrorNotReady is an answer, not an error. Returns code.
cudaError_t noteError(cudaError_t code);
cudaError_t lastError();
void clearLastError();

// The failure of the calling thread's current device.
cudaError_t deviceFailure();

template <class Body>
cudaError_t apiCall(Body&& body) noexcept {
  beginCall();
  cudaError_t code = mayCall();
  if (code != cudaSuccess) return noteError(code);
  try {
    code = std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    code = cudaErrorMemoryAllocation;
  } catch (const std::system_error&) {
    code = cudaErrorOperatingSystem;
  } catch (...) {
    code = cudaErrorUnknown;
  }
  return noteError(code);
}

// The same for calls that a failed device answers with its failure.
template <class Body>
cudaError_t deviceCall(Body&& body) noexcept {
  return apiCall([&] {
    const cudaError_t failure = deviceFailure();
    return failure != cudaSuccess ? failure : std::forward<Body>(body)();
  });
}

}  // namespace rondo::emu
