// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "runner.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <thread>

#include "check.h"

namespace perf {
namespace {

double readRequiredBandwidth(const Options& options) {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  if (!text || !*text) return 0;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end || !std::isfinite(value) || value < 0)
    failUsage("NCCL_TESTS_MIN_BW={}: must be a number >= 0, in GB/s", text);
  if (value > 0 && options.iters == 0) failUsage("NCCL_TESTS_MIN_BW={}: needs --iters of at least 1", text);
  return value;
}

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
      reports_(launcher.process() == 0),
      table_(options) {
  info_.program = std::string(collective.name()) + "_perf";
  info_.ranks = total_ranks_;
  info_.headers_version = NCCL_VERSION_CODE;
  verdict_.required_gbps = readRequiredBandwidth(options);
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
  info_.devices = parseDevices(launcher_.gather(describeRanks(ranks_)));
  std::map<std::string, int> device_users, memory_users;
  const auto key = [](const DeviceInfo& device) { return device.host + '\t' + device.device + '\t' + device.bus_id; };
  for (const DeviceInfo& device : info_.devices) {
    info_.devices_shared |= ++device_users[key(device)] > 1;
    ++memory_users[device.host_memory ? device.host : key(device)];
  }
  for (const Rank& rank : ranks_) {
    const DeviceInfo& device = info_.devices.at(static_cast<size_t>(rank.rank));
    ranks_on_memory->push_back(memory_users[device.host_memory ? device.host : key(device)]);
  }
}

void Runner::setUp() {
  PERF_NCCL(ncclGetVersion(&info_.library_version));
  if (reports_ && !options_.json_path.empty()) json_.emplace(options_);
  ranks_ = placeRanks(launcher_, options_.threads * options_.gpus_per_thread, &info_.devices_shared);
  initRanks();
  std::vector<int> ranks_on_memory;
  describeDevices(&ranks_on_memory);
  if (reports_) table_.printHeader(info_);
  if (json_) json_->begin(info_);
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
  const bool reports = reports_ && thread == 0;
  const size_t combinations =
      options_.types.size() * (collective_.hasOp() ? options_.ops.size() : 1) * listRoots().size();
  bench.warmUp({type, op, root, sizes_.back() / type.bytes});
  bench.warmUp({type, op, root, sizes_.front() / type.bytes});
  for (const uint64_t size : sizes_) {
    Line line{{type, op, root, size / type.bytes}, {}, {}};
    if (reports) table_.showProgress(lines_, combinations * sizes_.size(), line.what);
    line.out_of_place = bench.measure(line.what, false);
    line.in_place = bench.measure(line.what, true);
    if (thread == 0) addLine(line);
  }
}

void Runner::addLine(const Line& line) {
  ++lines_;
  for (const Measurement* side : {&line.out_of_place, &line.in_place}) {
    verdict_.wrong += side->wrong;
    verdict_.checked |= side->checked;
    verdict_.timed |= side->timed;
    bus_sum_ += side->bus_gbps;
    ++bus_count_;
  }
  if (!reports_) return;
  table_.printLine(line);
  const std::lock_guard lock(report_mutex_);
  if (json_) json_->add(line);
}

int Runner::conclude() {
  verdict_.bus_gbps = bus_count_ ? bus_sum_ / static_cast<double>(bus_count_) : 0;
  if (!reports_) return verdict_.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
  const char* last = ncclGetLastError(nullptr);
  if (!verdict_.ok() && last && *last) verdict_.errors.push_back(last);
  table_.printFooter(info_, verdict_);
  if (json_) json_->finish(verdict_);
  if (std::ferror(stdout)) throw Failure("stdout: write failed");
  return verdict_.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int Runner::run() {
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
  const int status = conclude();
  launcher_.detach();
  closeRanks(ranks_);
  return status;
}

void Runner::fail(const std::string& text, int status) {
  report_mutex_.lock();  // never unlocked: this is the end
  const char* shared = info_.devices_shared ? " (several ranks share a device)" : "";
  std::fputs(fmt::format("{}: process {}: {}{}\n", info_.program, launcher_.process(), text, shared).c_str(), stderr);
  if (json_) {
    verdict_.errors.push_back(text);
    try {
      json_->finish(verdict_);
    } catch (const std::exception& error) {
      std::fputs(fmt::format("{}: {}\n", info_.program, error.what()).c_str(), stderr);
    }
  }
  launcher_.abort(status);
}

int runProgram(int argc, char** argv, const Collective& collective) {
  const std::string program = std::string(collective.name()) + "_perf";
  std::unique_ptr<Launcher> launcher;
  try {
    launcher = makeLauncher();
    const Options options = parseOptions(program, argc, argv);
    if (options.help) {
      if (launcher->process() == 0) std::fputs(options.help_text.c_str(), stdout);
      return EXIT_SUCCESS;
    }
    Runner runner(options, collective, *launcher);
    try {
      return runner.run();
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception& error) {
      runner.fail(error.what(), EXIT_FAILURE);
    }
  } catch (const UsageError& error) {
    const bool tells = launcher ? launcher->process() == 0 : isFirstProcess();
    if (tells) std::fputs(fmt::format("{}: {}\n", program, error.what()).c_str(), stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", program, error.what()).c_str(), stderr);
    return EXIT_FAILURE;
  }
}

}  // namespace perf
