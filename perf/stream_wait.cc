// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "stream_wait.h"

#include <chrono>
#include <thread>

#include "check.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

// Communicators are asked this often: rarely enough not to disturb the measurement.
constexpr auto kAskEvery = std::chrono::milliseconds(1);
// After this long the wait sleeps between polls. The error it adds is then below a thousandth.
constexpr auto kSleepAfter = std::chrono::milliseconds(50);
constexpr auto kSleep = std::chrono::microseconds(20);

}  // namespace

void checkCommunicator(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  PERF_NCCL(ncclCommGetAsyncError(comm, &state));
  if (state == ncclInProgress) return;
  checkNccl(state, "state of the communicator", __FILE__, __LINE__);
}

void waitStreams(std::span<const PendingStream> pending) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point ask_at = begin + kAskEvery;
  for (size_t at = 0; at < pending.size();) {
    const cudaError_t result = cudaStreamQuery(pending[at].stream);
    if (result == cudaSuccess) {
      ++at;
      continue;
    }
    // The communicator's text says more than the runtime's, where both have failed.
    if (result != cudaErrorNotReady) {
      checkCommunicator(pending[at].comm);
      checkGpu(result, "cudaStreamQuery(stream)", __FILE__, __LINE__);
    }
    const Clock::time_point now = Clock::now();
    if (now >= ask_at) {
      for (const PendingStream& each : pending) checkCommunicator(each.comm);
      ask_at = now + kAskEvery;
    }
    if (now - begin > kSleepAfter) {
      std::this_thread::sleep_for(kSleep);
    } else {
      std::this_thread::yield();
    }
  }
  // An error may also end the kernels: then the streams are idle and the results worthless.
  for (const PendingStream& each : pending) checkCommunicator(each.comm);
}

}  // namespace perf
