// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How the processes of one run find and talk to each other, three ways: one process alone, MPI, or through the
// communicator under test (started by hand with RONDO_PERF_RANKS). Only the main thread calls it, except abort().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu.h"

namespace perf {

enum class Reduce { Sum, Min, Max };

// One of this process's ranks, for a launcher that communicates through the communicator.
struct LocalRank {
  int device;
  ncclComm_t comm;
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  int process() const { return process_; }
  int processes() const { return processes_; }
  int localProcess() const { return local_process_; }

  // Every process gets the same id.
  virtual ncclUniqueId shareId() = 0;

  // Makes the communicator of all processes, one rank each, by the launcher's own means: --bootstrap mpi. Throws
  // UsageError, the same on every process, where it has none.
  virtual ncclComm_t initCommunicator();

  // Between attach and detach barrier, reduce and gather may be called; all processes call them alike.
  virtual void attach(const std::vector<LocalRank>&) {}
  virtual void detach() {}
  virtual void barrier() = 0;
  virtual void reduce(std::span<double> values, Reduce kind) = 0;

  // Every process gets every process's text, in their order.
  std::vector<std::string> gather(const std::string& text);

  // Ends all processes; any thread.
  [[noreturn]] void abort(int status);

 protected:
  // Tells the other processes to end, where there is a way, after a moment in which they can tell their own error.
  virtual void endOthers(int) {}

  int process_ = 0;
  int processes_ = 1;
  int local_process_ = 0;
};

// Looks at the environment and starts MPI where the program has it. Throws UsageError, the same on every process.
std::unique_ptr<Launcher> makeLauncher();

// MPI alone, for programs that measure it. Throws as makeLauncher.
std::unique_ptr<Launcher> makeLauncherOfMpi();

// Whether this process is the one that reports a mistake found before or by makeLauncher.
bool isFirstProcess();

}  // namespace perf
