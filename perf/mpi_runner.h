// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A run of a program that measures MPI, on this process: one rank, one thread, plain memory. Owned by the main thread.
#pragma once

#include <optional>
#include <vector>

#include "mpi_bench.h"
#include "mpi_collective.h"
#include "options.h"
#include "results.h"
#include "team.h"

namespace perf {

class MpiRunner {
 public:
  // Throws UsageError, as run does, on every process alike.
  MpiRunner(const Options& options, const MpiCollective& collective, Launcher& launcher);

  // The exit status, the same on every process.
  int run();

 private:
  void describe();
  void checkMemory(const std::vector<std::string>& hosts) const;
  std::vector<int> listRoots() const;
  void sweep();
  void sweepSizes(MpiBench& bench, const TypeInfo& type, const OpInfo& op, int root);

  const Options& options_;
  const MpiCollective& collective_;
  Launcher& launcher_;
  Team team_;
  std::vector<uint64_t> sizes_;
  std::vector<TypeInfo> types_;
  std::vector<OpInfo> ops_;
  Results results_;
};

}  // namespace perf
