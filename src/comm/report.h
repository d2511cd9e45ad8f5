// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The host's side of a communicator's report page (device/shared/report.h): the issue log and what kernels reported.
// Owned by the communicator; calls are logged under its mutex, the rest is read by any thread.
#pragma once

#include <optional>
#include <string>

#include "device/runtime/runtime.h"
#include "device/shared/report.h"
#include "src/plan/plan.h"

namespace rondo {

class Report {
 public:
  Report();

  ReportPage& page() const { return *page_; }

  // Makes every wait of the communicator's kernels end.
  void raiseAbort() { hostStoreRelease(page_->abort, 1); }

  void logCall(const Call& call, uint64_t sequence, runtime::Stream stream);

  // What a kernel found wrong: ranks called different things. Empty when nothing was.
  std::optional<std::string> mismatch(int rank) const;

  // What the kernels wait for, where it has lasted: "; channel 0 waits for step 17 from rank 2 in call 5". Empty when none
  // does.
  std::string describeWaits() const;

 private:
  runtime::PinnedMemory memory_;
  ReportPage* page_;
};

}  // namespace rondo
