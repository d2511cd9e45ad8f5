// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "mpi_runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "error.h"
#include "mpi_types.h"
#include "program.h"
#include "ranks.h"
#include "sizes.h"

namespace perf {
namespace {

std::string mpiLibrary() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name;
}

std::string hostName() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return host;
}

}  // namespace

MpiRunner::MpiRunner(const Options& options, const MpiCollective& collective, Launcher& launcher)
    : options_(options),
      collective_(collective),
      launcher_(launcher),
      team_(launcher, 1),
      sizes_(listSizes(options.sizes)),
      types_(keepMpiTypes(options.types, collective.hasOp())),
      ops_(collective.hasOp() ? keepMpiOps(options.ops) : std::vector<OpInfo>{noOp()}),
      results_(options, launcher.process() == 0) {
  results_.info().program = collective.programName();
  results_.info().ranks = launcher.processes();
  results_.info().mpi_library = mpiLibrary();
  if (collective.hasRoot() && options.root >= launcher.processes()) {
    failUsage("--root {}: must be a rank from 0 to {}, or -1 or all for every rank", options.root,
              launcher.processes() - 1);
  }
  constexpr uint64_t kMaxCount = std::numeric_limits<int>::max();
  for (const TypeInfo& type : types_) {
    if (sizes_.back() / type.bytes <= kMaxCount) continue;
    failUsage("--maxbytes {}: MPI counts at most {} elements in one call, that is {} bytes of {}",
              options.sizes.max_bytes, kMaxCount, kMaxCount * type.bytes, type.name);
  }
}

void MpiRunner::describe() {
  const std::vector<std::string> hosts = launcher_.gather(hostName());
  const std::vector<std::string> pids = launcher_.gather(std::to_string(getpid()));
  for (int rank = 0; rank < launcher_.processes(); ++rank) {
    const auto index = static_cast<size_t>(rank);
    results_.info().devices.push_back({rank, hosts[index], pids[index], "0", "-", "plain memory", true});
  }
  results_.begin();
  checkMemory(hosts);
}

void MpiRunner::checkMemory(const std::vector<std::string>& hosts) const {
  launcher_.barrier();  // nobody may allocate before everybody has looked
  const auto sharing = static_cast<double>(std::count(hosts.begin(), hosts.end(), hostName()));
  const double needed = sharing * bytesPerRank(options_.sizes.max_bytes);
  double lacking = needed - static_cast<double>(availableHostBytes());
  launcher_.reduce({&lacking, 1}, Reduce::Max);
  if (lacking <= 0) return;
  failUsage("--maxbytes {}: needs {} of memory per rank (send and receive buffer); {} are missing on one host",
            options_.sizes.max_bytes, formatBytes(bytesPerRank(options_.sizes.max_bytes)), formatBytes(lacking));
}

std::vector<int> MpiRunner::listRoots() const {
  if (!collective_.hasRoot()) return {-1};
  if (options_.root != kAllRoots) return {options_.root};
  std::vector<int> roots;
  for (int root = 0; root < launcher_.processes(); ++root) roots.push_back(root);
  return roots;
}

void MpiRunner::sweep() {
  MpiBench bench(options_, collective_, team_);
  for (const TypeInfo& type : types_) {
    for (const OpInfo& op : ops_) {
      for (const int root : listRoots()) sweepSizes(bench, type, op, root);
    }
  }
}

void MpiRunner::sweepSizes(MpiBench& bench, const TypeInfo& type, const OpInfo& op, int root) {
  const size_t lines = types_.size() * ops_.size() * listRoots().size() * sizes_.size();
  bench.warmUp({type, op, root, sizes_.back() / type.bytes});
  bench.warmUp({type, op, root, sizes_.front() / type.bytes});
  for (const uint64_t size : sizes_) {
    Line line{{type, op, root, size / type.bytes}, {}, {}};
    results_.showProgress(lines, line.what);
    line.out_of_place = bench.measure(line.what, false);
    line.in_place = bench.measure(line.what, true);
    results_.add(line);
  }
}

int MpiRunner::run() {
  int status = EXIT_FAILURE;
  try {
    results_.openFile();
    describe();
    sweep();
    return results_.conclude("");
  } catch (const LocalUsageError& error) {
    results_.fail(error.what(), launcher_.process());
    status = 2;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    results_.fail(error.what(), launcher_.process());
  }
  launcher_.abort(status);
}

int runMpiProgram(int argc, char** argv, const MpiCollective& collective) {
  const auto run = [&collective](const Options& options, Launcher& launcher) {
    return MpiRunner(options, collective, launcher).run();
  };
  return runFrame({collective.programName(), Measured::Mpi, makeLauncherOfMpi, run}, argc, argv);
}

}  // namespace perf
