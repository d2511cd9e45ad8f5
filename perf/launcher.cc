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

// What the launcher says, before MPI_Init adds variables of its own: the first counter that is set.
struct Claim {
  const char* name = nullptr;
  int size = 1;
};

Claim readClaim() {
  for (const Counter& counter : kCounters) {
    int size = 0;
    if (readNumber(counter.size, &size)) return {counter.size, size};
  }
  return {};
}

constexpr const char* kAdvice = " (RONDO_PERF_RANKS=1 runs one on purpose)";

// N separate runs of one rank each look like a good result of N ranks, so they are refused.
void refuseLonelyProcess(const Claim& claim, const std::string& reason) {
  if (claim.size <= 1) return;
  failUsage("{}={} but this program sees one process: {}", claim.name, claim.size, reason);
}

#ifdef PERF_MPI
std::unique_ptr<Launcher> startMpi(const std::string& advice) {
  const Claim claim = readClaim();
  std::unique_ptr<Launcher> launcher = makeMpiLauncher();
  if (launcher->processes() == 1) {
    refuseLonelyProcess(claim, "it was built with another MPI than the launcher's" + advice);
  }
  return launcher;
}
#endif

}  // namespace

std::vector<std::string> Launcher::gather(const std::string& text) {
  auto longest = static_cast<double>(text.size());
  reduce({&longest, 1}, Reduce::Max);
  const auto width = static_cast<size_t>(longest);
  // Sums with zeros: every launcher can reduce doubles.
  std::vector<double> table(static_cast<size_t>(processes_) * width, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    table[static_cast<size_t>(process_) * width + i] = static_cast<unsigned char>(text[i]);
  }
  reduce(table, Reduce::Sum);
  std::vector<std::string> texts(static_cast<size_t>(processes_));
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] != 0) texts[i / width] += static_cast<char>(static_cast<unsigned char>(table[i]));
  }
  return texts;
}

ncclComm_t Launcher::initCommunicator() {
  failUsage(
      "--bootstrap mpi: needs a start by mpirun or srun of a program that was built with MPI; here it must be socket");
}

void Launcher::abort(int status) {
  std::fflush(nullptr);
  endOthers(status);
  std::_Exit(status);
}

#ifdef PERF_MPI
std::unique_ptr<Launcher> makeLauncherOfMpi() {
  return startMpi("");
}
#endif

std::unique_ptr<Launcher> makeLauncher() {
  if (std::getenv("RONDO_PERF_RANKS")) return makeLauncherByHand();
#ifdef PERF_MPI
  return startMpi(kAdvice);
#else
  refuseLonelyProcess(readClaim(), std::string("it was built without MPI") + kAdvice);
  return std::make_unique<SingleLauncher>();
#endif
}

bool isFirstProcess() {
  int rank = 0;
  // A number out of range is nobody's: its process says what is wrong with it.
  int ranks = 0;
  if (readNumber("RONDO_PERF_RANK", &rank))
    return rank <= 0 || (readNumber("RONDO_PERF_RANKS", &ranks) && rank >= ranks);
  for (const Counter& counter : kCounters) {
    if (readNumber(counter.rank, &rank)) return rank == 0;
  }
  return true;
}

}  // namespace perf
