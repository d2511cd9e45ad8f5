// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The host's side of a communicator's report page (device/shared/report.h): the issue log and what kernels reported.
// Owned by the communicator; calls are logged under its mutex, the rest is read by any thread.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "device/runtime/runtime.h"
#include "device/shared/report.h"
#include "src/plan/plan.h"

namespace rondo {

// A wait that a kernel has published.
struct PublishedWait {
  uint32_t channel;
  bool sends;  // waits until the peer has taken something, else until it has sent something
  uint64_t step;
  int peer;
  uint64_t sequence;  // of the call
  uint64_t since_ns;  // by the device's clock
};

class Report {
 public:
  Report();

  ReportPage& page() const { return *page_; }

  // Makes every wait of the communicator's kernels end.
  void raiseAbort() { hostStoreRelease(page_->abort, 1); }

  void logCall(const Call& call, uint64_t sequence, runtime::Stream stream);
  // The sequence of the last call; 0 before the first.
  uint64_t lastCall() const { return lastCall_.load(std::memory_order_relaxed); }
  // A call of the issue log; empty when it is too old, or not made yet.
  std::optional<Call> findCall(uint64_t sequence) const;

  // What a kernel found wrong: ranks called different things. Empty when nothing was.
  std::optional<std::string> mismatch(int rank) const;

  // What the kernels wait for, where it has lasted.
  std::vector<PublishedWait> waits() const;
  // The same as text: "; channel 0 waits for step 17 from rank 2 in call 5". Empty when none
  // does.
  std::string describeWaits() const;

 private:
  runtime::PinnedMemory memory_;
  ReportPage* page_;
  std::atomic<uint64_t> lastCall_{0};
};

}  // namespace rondo
