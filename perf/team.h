// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The threads of a process, and through the launcher those of all processes: barriers and reductions that every thread
// of the run calls alike. Thread 0 is the main thread, the only one that speaks to the launcher.
#pragma once

#include <barrier>
#include <span>
#include <vector>

#include "launcher.h"

namespace perf {

class Team {
 public:
  Team(Launcher& launcher, int threads);

  int threads() const { return static_cast<int>(values_.size()); }
  Launcher& launcher() { return launcher_; }

  void barrier(int thread);
  // Combines all threads' values of all processes in place.
  void reduce(int thread, std::span<double> values, Reduce kind);

 private:
  void combine(Reduce kind);

  Launcher& launcher_;
  std::barrier<> gate_;
  std::vector<std::span<double>> values_;  // each thread's own, between gates also read and written by thread 0
};

}  // namespace perf
