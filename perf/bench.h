// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One thread's part in measuring and checking a line: launches on its ranks, waits, takes the time. All threads of all
// processes call the same functions with the same cases. Owned and used by its thread.
#pragma once

#include <span>
#include <vector>

#include "collective.h"
#include "ranks.h"
#include "report.h"
#include "stream_wait.h"
#include "team.h"
#include "timing.h"
#include "verifier.h"

namespace perf {

class Bench {
 public:
  Bench(const Options& options, const Collective& collective, Team& team, int thread, std::span<const Rank> ranks);

  // Untimed iterations.
  void warmUp(const Case& what);
  Measurement measure(const Case& what, bool in_place);

 private:
  int totalRanks() const;
  void launch(const Case& what, bool in_place, uint64_t iteration);
  void launchOnce(const Case& what, bool in_place, uint64_t offset);
  void wait() { waitStreams(pending_); }
  Elapsed timeLoop(const Case& what, bool in_place);
  double check(const Case& what, bool in_place);

  const Options& options_;
  const Collective& collective_;
  Team& team_;
  int thread_;
  std::span<const Rank> ranks_;
  std::vector<PendingStream> pending_;
  std::vector<Verifier> verifiers_;
};

}  // namespace perf
