// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "runner.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include "check.h"
#include "program.h"

namespace perf {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// From describeRanks's lines.
std::vector<DeviceInfo> parseDevices(const std::vector<std::string>& texts) {
  std::vector<DeviceInfo> devices;
  for (const std::string& text : texts) {
    for (const std::string& line : split(text, '\n')) {
      std::vector<std::string> fields = split(line, '\t');
      fields.resize(6);
      devices.push_back(
          {static_cast<int>(devices.size()), fields[0], fields[1], fields[2], fields[3], fields[4], fields[5] == "1"});
    }
  }
  return devices;
}

}  // namespace

Runner::Runner(const Options& options, const Collective& collective, Launcher& launcher)
    : options_(options),
      collective_(collective),
      launcher_(launcher),
      team_(launcher, options.threads),
      total_ranks_(launcher.processes() * options.threads * options.gpus_per_thread),
      sizes_(listSizes(options.sizes)),
      results_(options, launcher.process() == 0) {
  results_.info().program = collective.programName();
  results_.info().ranks = total_ranks_;
  results_.info().headers_version = NCCL_VERSION_CODE;
  if (collective.hasRoot() && options.root >= total_ranks_) {
    failUsage("--root {}: must be a rank from 0 to {}, or -1 or all for every rank", options.root, total_ranks_ - 1);
  }
}

template <class Work>
void Runner::runThreads(Work work) {
  std::vector<std::thread> threads;
  for (int thread = 1; thread < options_.threads; ++thread) {
    threads.emplace_back([this, work, thread] {
      try {
        work(thread);
      } catch (const std::exception& error) {
        fail(error.what(), EXIT_FAILURE);
      }
    });
  }
  try {
    work(0);
  } catch (const std::exception& error) {
    fail(error.what(), EXIT_FAILURE);
  }
  for (std::thread& thread : threads) thread.join();
}

std::span<Rank> Runner::ranksOf(int thread) {
  const auto each = static_cast<size_t>(options_.gpus_per_thread);
  return std::span(ranks_).subspan(static_cast<size_t>(thread) * each, each);
}

void Runner::initRanks() {
  if (options_.bootstrap == Bootstrap::Mpi) {
    PERF_GPU(cudaSetDevice(ranks_.front().device));
    ranks_.front().comm = launcher_.initCommunicator();
  } else {
    const ncclUniqueId id = launcher_.shareId();
    if (options_.parallel_init) {
      runThreads([this, &id](int thread) { initCommunicators(ranksOf(thread), total_ranks_, id); });
    } else {
      initCommunicators(ranks_, total_ranks_, id);
    }
  }
  std::vector<LocalRank> local;
  for (const Rank& rank : ranks_) local.push_back({rank.device, rank.comm});
  launcher_.attach(local);
}

void Runner::describeDevices(std::vector<int>* ranks_on_memory) {
  RunInfo& info = results_.info();
  info.devices = parseDevices(launcher_.gather(describeRanks(ranks_)));
  std::map<std::string, int> device_users, memory_users;
  const auto key = [](const DeviceInfo& device) { return device.host + '\t' + device.device + '\t' + device.bus_id; };
  for (const DeviceInfo& device : info.devices) {
    info.devices_shared |= ++device_users[key(device)] > 1;
    ++memory_users[device.host_memory ? device.host : key(device)];
  }
  for (const Rank& rank : ranks_) {
    const DeviceInfo& device = info.devices.at(static_cast<size_t>(rank.rank));
    ranks_on_memory->push_back(memory_users[device.host_memory ? device.host : key(device)]);
  }
}

void Runner::setUp() {
  PERF_NCCL(ncclGetVersion(&results_.info().library_version));
  results_.openFile();
  ranks_ = placeRanks(launcher_, options_.threads * options_.gpus_per_thread, &results_.info().devices_shared);
  initRanks();
  std::vector<int> ranks_on_memory;
  describeDevices(&ranks_on_memory);
  results_.begin();
  checkMemory(launcher_, ranks_, ranks_on_memory, options_.sizes.max_bytes);
  allocateBuffers(ranks_, options_.sizes.max_bytes);
}

std::vector<int> Runner::listRoots() const {
  if (!collective_.hasRoot()) return {-1};
  if (options_.root != kAllRoots) return {options_.root};
  std::vector<int> roots;
  for (int root = 0; root < total_ranks_; ++root) roots.push_back(root);
  return roots;
}

void Runner::sweep(int thread) {
  Bench bench(options_, collective_, team_, thread, ranksOf(thread));
  const std::vector<OpInfo> ops = collective_.hasOp() ? options_.ops : std::vector<OpInfo>{noOp()};
  for (const TypeInfo& type : options_.types) {
    for (const OpInfo& op : ops) {
      for (const int root : listRoots()) sweepSizes(bench, thread, type, op, root);
    }
  }
}

void Runner::sweepSizes(Bench& bench, int thread, const TypeInfo& type, const OpInfo& op, int root) {
  const size_t combinations =
      options_.types.size() * (collective_.hasOp() ? options_.ops.size() : 1) * listRoots().size();
  bench.warmUp({type, op, root, sizes_.back() / type.bytes});
  bench.warmUp({type, op, root, sizes_.front() / type.bytes});
  for (const uint64_t size : sizes_) {
    Line line{{type, op, root, size / type.bytes}, {}, {}};
    if (thread == 0) results_.showProgress(combinations * sizes_.size(), line.what);
    line.out_of_place = bench.measure(line.what, false);
    line.in_place = bench.measure(line.what, true);
    if (thread == 0) results_.add(line);
  }
}

int Runner::runSteps() {
  try {
    setUp();
  } catch (const LocalUsageError& error) {
    fail(error.what(), 2);
  } catch (const UsageError&) {
    launcher_.detach();
    closeRanks(ranks_);
    throw;
  }
  runThreads([this](int thread) { sweep(thread); });
  const char* last = ncclGetLastError(nullptr);
  const int status = results_.conclude(last ? last : "");
  launcher_.detach();
  closeRanks(ranks_);
  return status;
}

int Runner::run() {
  try {
    return runSteps();
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    fail(error.what(), EXIT_FAILURE);
  }
}

void Runner::fail(const std::string& text, int status) {
  results_.fail(text, launcher_.process());
  launcher_.abort(status);
}

int runProgram(int argc, char** argv, const Collective& collective) {
  const auto run = [&collective](const Options& options, Launcher& launcher) {
    return Runner(options, collective, launcher).run();
  };
  return runFrame({collective.programName(), Measured::Library, makeLauncher, run}, argc, argv);
}

}  // namespace perf
