// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A run of a perf program on this process, from placing its ranks to the verdict. Owned by the main thread, which is
// also worker 0; the other workers are started and joined here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "collective.h"
#include "options.h"
#include "ranks.h"
#include "results.h"
#include "team.h"

namespace perf {

class Runner {
 public:
  // Throws UsageError, as run does.
  Runner(const Options& options, const Collective& collective, Launcher& launcher);

  // The exit status, the same on every process.
  int run();

  // Reports what ended the run and ends all processes. Any thread; the first caller wins.
  [[noreturn]] void fail(const std::string& text, int status);

 private:
  int runSteps();
  void setUp();
  void initRanks();
  void describeDevices(std::vector<int>* ranks_on_memory);
  std::span<Rank> ranksOf(int thread);
  template <class Work>
  void runThreads(Work work);

  std::vector<int> listRoots() const;
  void sweep(int thread);
  void sweepSizes(Bench& bench, int thread, const TypeInfo& type, const OpInfo& op, int root);
  const Options& options_;
  const Collective& collective_;
  Launcher& launcher_;
  Team team_;
  int total_ranks_;
  std::vector<uint64_t> sizes_;
  std::vector<Rank> ranks_;
  Results results_;
};

}  // namespace perf
