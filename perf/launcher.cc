// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "launcher.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"
#include "launcher_comm.h"
#ifdef PERF_MPI
#include "launcher_mpi.h"
#endif

namespace perf {
namespace {

constexpr size_t kTextBytes = 1000;
constexpr int kMaxProcesses = 1 << 20;

// How MPI implementations and Slurm tell a process how many there are, and which one it is.
struct Counter {
  const char* size;
  const char* rank;
};
constexpr Counter kCounters[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                 {"PMI_SIZE", "PMI_RANK"},
                                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
                                 {"SLURM_NTASKS", "SLURM_PROCID"}};

bool readNumber(const char* name, int* value) {
  const char* text = std::getenv(name);
  if (!text) return false;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *value);
  return error == std::errc() && stop == end && stop != text;
}

int requireNumber(const char* name, int low, int high) {
  int value = 0;
  if (!readNumber(name, &value) || value < low || value > high) {
    const char* text = std::getenv(name);
    failUsage("{}={}: must be a whole number from {} to {}", name, text ? text : "(not set)", low, high);
  }
  return value;
}

class SingleLauncher : public Launcher {
 public:
  ncclUniqueId shareId() override {
    ncclUniqueId id;
    PERF_NCCL(ncclGetUniqueId(&id));
    return id;
  }
  void barrier() override {}
  void reduce(std::span<double>, Reduce) override {}
};

std::unique_ptr<Launcher> makeLauncherByHand() {
  const int processes = requireNumber("RONDO_PERF_RANKS", 1, kMaxProcesses);
  if (processes == 1) return std::make_unique<SingleLauncher>();
  const int process = requireNumber("RONDO_PERF_RANK", 0, processes - 1);
  const int local =
      std::getenv("RONDO_PERF_LOCAL_RANK") ? requireNumber("RONDO_PERF_LOCAL_RANK", 0, processes - 1) : process;
  const char* address = std::getenv("NCCL_COMM_ID");
  if (!address || !*address) {
    failUsage("RONDO_PERF_RANKS={}: needs NCCL_COMM_ID=host:port, the same for every process", processes);
  }
  return makeCommLauncher(process, processes, local);
}

// N separate runs of one rank each look like a good result of N ranks, so they are refused.
void refuseLonelyProcess(const char* reason) {
  for (const Counter& counter : kCounters) {
    int size = 0;
    if (!readNumber(counter.size, &size)) continue;
    if (size > 1) {
      failUsage("{}={} but this program sees one process: {} (RONDO_PERF_RANKS=1 runs one on purpose)", counter.size,
                size, reason);
    }
    return;
  }
}

}  // namespace

std::vector<std::string> Launcher::gather(const std::string& text) {
  // Sums with zeros: every launcher can reduce doubles.
  std::vector<double> table(static_cast<size_t>(processes_) * kTextBytes, 0);
  for (size_t i = 0; i < std::min(text.size(), kTextBytes); ++i) {
    table[static_cast<size_t>(process_) * kTextBytes + i] = static_cast<unsigned char>(text[i]);
  }
  reduce(table, Reduce::Sum);
  std::vector<std::string> texts(static_cast<size_t>(processes_));
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] != 0) texts[i / kTextBytes] += static_cast<char>(static_cast<unsigned char>(table[i]));
  }
  return texts;
}

void Launcher::abort(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

std::unique_ptr<Launcher> makeLauncher() {
  if (std::getenv("RONDO_PERF_RANKS")) return makeLauncherByHand();
#ifdef PERF_MPI
  std::unique_ptr<Launcher> launcher = makeMpiLauncher();
  if (launcher->processes() == 1) refuseLonelyProcess("it was built with another MPI than the launcher's");
  return launcher;
#else
  refuseLonelyProcess("it was built without MPI");
  return std::make_unique<SingleLauncher>();
#endif
}

bool isFirstProcess() {
  int rank = 0;
  if (readNumber("RONDO_PERF_RANK", &rank)) return rank == 0;
  for (const Counter& counter : kCounters) {
    if (readNumber(counter.rank, &rank)) return rank == 0;
  }
  return true;
}

}  // namespace perf
