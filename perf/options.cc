// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "options.h"

#include <charconv>
#include <limits>

#include "error.h"
#include "flags.h"

namespace perf {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr uint64_t kMaxSizes = 1'000'000;

constexpr const char* kColumns = R"(
Sizes are powers of 1024: 8, 1K, 1.5G, 64M; K, KB and KiB mean the same.

Columns:
  size     bytes of one rank's buffer, a whole number of elements      count   elements of it
  type     element type      redop   reduction, none where there is none
  root     root rank, -1 where there is none
  time     microseconds per operation: host time of the loop / operations, launch included
  algbw    size / time, in 1e9 bytes/s
  busbw    algbw * 2(n-1)/n for all_reduce, algbw for broadcast (n ranks): what each link must carry
  #wrong   wrong elements of all ranks in the check runs (not the timed ones): results are compared bit by bit (floating
           avg: 2 units in the last place); a damaged guard or a changed send buffer counts too; N/A without a check
  out-of-place: send and receive buffer differ; in-place: they are the same.

Exit status: 0 passed, 1 wrong results, too slow (NCCL_TESTS_MIN_BW) or a failed call, 2 usage.

Environment:
  NCCL_TESTS_MIN_BW=X    fail when the average bus bandwidth is below 0.9 * X GB/s)";

constexpr const char* kLibraryNotes = R"(
  NCCL_TESTS_DEVICE=D    first device of each process (default: place on the host * threads * gpus)
  RONDO_PERF_RANKS=N     start without MPI: this is one of N processes, and NCCL_COMM_ID=host:port tells where they meet
  RONDO_PERF_RANK=R      which of them, 0 to N-1
  RONDO_PERF_LOCAL_RANK=L  its place on the host (default: R)
Ranks in all: processes * threads * gpus.)";

constexpr const char* kMpiNotes = R"(

Measures the MPI library on plain memory, in the table and by the check of broadcast_perf and all_reduce_perf. MPI has
one buffer for a broadcast: out-of-place, the root sends from its send buffer and then copies it to its receive buffer.
An allreduce has no types below 4 bytes and no avg: MPI lacks some of them and leaves open what an 8-bit sum past its
range is. Wrong results are MPI's own (MPICH 4.0.2 compares unsigned numbers as signed ones in max and min). Ranks are
processes; start them by mpirun or srun.)";

int parseRoot(const std::string& flag, const std::string& text) {
  if (text == "all" || text == "-1") return kAllRoots;
  long long value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < 0 || value > kMaxInt) {
    failUsage("{} {}: must be a rank, or -1 or all for every rank", flag, text);
  }
  return static_cast<int>(value);
}

Bootstrap parseBootstrap(const std::string& flag, const std::string& text) {
  if (text == "socket") return Bootstrap::Socket;
  if (text == "mpi") return Bootstrap::Mpi;
  failUsage("{} {}: must be mpi or socket", flag, text);
}

void addSizeFlags(Flags& flags, Options& options) {
  flags.addBytes("-b,--minbytes", options.sizes.min_bytes, "smallest size (default 32M)");
  flags.addBytes("-e,--maxbytes", options.sizes.max_bytes, "largest size (default 32M)");
  flags.add(
      "-i,--stepbytes",
      [&options](auto& flag, auto& text) {
        options.sizes.step_bytes = parseBytes(flag, text);
        if (options.sizes.step_bytes == 0) failUsage("{} {}: must be at least 1 byte", flag, text);
      },
      "BYTES", "step between sizes (default 1M)");
  flags.addInteger("-f,--stepfactor", options.sizes.factor, 2, kMaxInt, "factor between sizes, instead of a step");
}

void addLoopFlags(Flags& flags, Options& options, Measured measured) {
  flags.addInteger("-n,--iters", options.iters, 0, kMaxInt, "timed iterations (default 20; 0: check only)");
  flags.addInteger("-w,--warmup_iters", options.warmup_iters, 0, kMaxInt, "warm-up iterations (default 1)");
  if (measured == Measured::Library) {
    flags.addInteger("-m,--agg_iters", options.agg_iters, 1, kMaxInt,
                     "operations per iteration, as one group (default 1)");
  }
  flags.addInteger("-c,--check", options.check_iters, 0, kMaxInt,
                   "check runs per line, not timed (default 1; 0: none)");
  flags.add(
      "-d,--datatype", [&options](auto& flag, auto& text) { options.types = findTypes(flag, text); }, "TYPE",
      "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 all (default float)");
  flags.add(
      "-o,--op", [&options](auto& flag, auto& text) { options.ops = findOps(flag, text); }, "OP",
      "sum prod max min avg all (default sum); unused where nothing is reduced");
  flags.add(
      "-r,--root", [&options](auto& flag, auto& text) { options.root = parseRoot(flag, text); }, "RANK",
      "root (default 0; -1 or all: every rank in turn); unused where there is none");
}

void addLaunchFlags(Flags& flags, Options& options) {
  flags.addInteger("-g,--ngpus", options.gpus_per_thread, 1, 1024, "ranks (devices) per thread (default 1)");
  flags.addInteger("-t,--nthreads", options.threads, 1, 1024, "threads per process (default 1)");
  flags.addInteger("-p,--parallel_init", options.parallel_init, 0, 1, "1: each thread makes its own communicators");
  flags.add(
      "--bootstrap", [&options](auto& flag, auto& text) { options.bootstrap = parseBootstrap(flag, text); }, "HOW",
      "how the ranks find each other: socket (a unique id, the default) or mpi (rondoCommInitMpi)");
  flags.addInteger("-C,--report_cputime", options.report_cpu_time, 0, 1, "1: show the host time of the launches alone");
}

void addReportFlags(Flags& flags, Options& options) {
  flags.addInteger("-a,--average", options.time_over, 0, 3,
                   "time shown: 0 of rank 0, 1 average, 2 least, 3 greatest (default 1)");
  flags.addInteger("-z,--blocking", options.blocking, 0, 3,
                   "after each iteration: 1 wait and barrier, 2 wait, 3 as 1 with the barrier not timed (default 0)");
  flags.addInteger("-S,--report_timestamps", options.report_timestamps, 0, 1, "1: end each line with date and time");
  flags.addText("-J,--output_file", options.json_path, "FILE",
                "write the results as JSON; an existing file is kept, FILE.1 and so on is written");
}

void checkTogether(const Options& options) {
  const SizeRange& sizes = options.sizes;
  if (sizes.min_bytes > sizes.max_bytes) {
    failUsage("--minbytes {} is larger than --maxbytes {} (the default of both is 32M): -b must be at most -e",
              sizes.min_bytes, sizes.max_bytes);
  }
  if (const uint64_t count = countSizes(sizes); count > kMaxSizes) {
    failUsage("--stepbytes {}: makes {} sizes from {} to {}, at most {} are allowed; use a larger step or -f",
              sizes.step_bytes, count, sizes.min_bytes, sizes.max_bytes, kMaxSizes);
  }
  if (options.threads * options.gpus_per_thread > 1024) {
    failUsage("--nthreads {} --ngpus {}: their product must be at most 1024", options.threads, options.gpus_per_thread);
  }
  if (options.bootstrap == Bootstrap::Mpi && options.threads * options.gpus_per_thread > 1) {
    failUsage("--bootstrap mpi --nthreads {} --ngpus {}: one rank per process is allowed with mpi, so both must be 1",
              options.threads, options.gpus_per_thread);
  }
}

}  // namespace

Options parseOptions(const std::string& program, int argc, const char* const* argv, Measured measured) {
  Options options;
  options.types = findTypes("--datatype", "float");
  options.ops = findOps("--op", "sum");
  options.arguments.assign(argv, argv + argc);
  CLI::App app("Measures and checks one collective over a sweep of sizes.", program);
  app.footer(std::string(kColumns) + (measured == Measured::Library ? kLibraryNotes : kMpiNotes));
  Flags flags(app);
  addSizeFlags(flags, options);
  addLoopFlags(flags, options, measured);
  if (measured == Measured::Library) addLaunchFlags(flags, options);
  addReportFlags(flags, options);
  options.help = !readCommandLine(app, argc, argv, &options.help_text);
  if (options.help) return options;
  checkTogether(options);
  return options;
}

}  // namespace perf
