// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The command line of the perf programs: nccl-tests' flags. Read once by the main thread, constant afterwards.
#pragma once

#include <string>
#include <vector>

#include "sizes.h"
#include "types.h"

namespace perf {

constexpr int kAllRoots = -1;

enum class TimeOver { Rank0 = 0, Average = 1, Min = 2, Max = 3 };

// What the host does after each launch of the timed loop (a launch is one operation, or one group of --agg_iters).
enum class Blocking { Never = 0, WaitAndBarrier = 1, Wait = 2, WaitTimedBarrierNot = 3 };

// How the ranks of the communicator find each other: by a unique id, or by Rondo's rondoCommInitMpi.
enum class Bootstrap { Socket, Mpi };

// The library, or MPI in the programs that compare it: those have no devices, groups or threads.
enum class Measured { Library, Mpi };

struct Options {
  SizeRange sizes;
  int iters = 20;
  int warmup_iters = 1;
  int agg_iters = 1;
  int check_iters = 1;
  std::vector<TypeInfo> types;
  std::vector<OpInfo> ops;
  int root = 0;  // or kAllRoots
  int gpus_per_thread = 1;
  int threads = 1;
  bool parallel_init = false;
  Bootstrap bootstrap = Bootstrap::Socket;
  TimeOver time_over = TimeOver::Average;
  Blocking blocking = Blocking::Never;
  bool report_cpu_time = false;
  bool report_timestamps = false;
  std::string json_path;  // empty: none
  std::vector<std::string> arguments;

  bool help = false;
  std::string help_text;
};

// Throws UsageError that names flag, value and allowed range. `program` is the name shown in the help.
Options parseOptions(const std::string& program, int argc, const char* const* argv,
                     Measured measured = Measured::Library);

}  // namespace perf
