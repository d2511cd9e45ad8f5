// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "sizes.h"

namespace perf {
namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void eraseProgress() {
  if (isatty(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
}

std::string formatTime(double us) {
  return us >= 10000 ? fmt::format("{:.0f}", us) : fmt::format("{:.{}f}", us, us >= 100 ? 1 : 2);
}

std::string describeLibrary(const RunInfo& info) {
  if (!info.mpi_library.empty()) return fmt::format("# mpi-library={}\n", info.mpi_library);
  return fmt::format("# nccl-headers={} nccl-library={}\n", info.headers_version, info.library_version);
}

std::string formatSide(const Measurement& side, bool cpu_time) {
  const std::string wrong = side.checked ? fmt::format("{:.0f}", side.wrong) : "N/A";
  if (!side.timed) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", wrong);
  return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>6}", formatTime(cpu_time ? side.cpu_us : side.time_us),
                     side.alg_gbps, side.bus_gbps, wrong);
}

}  // namespace

std::string formatNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string formatLine(const Line& line, bool cpu_time) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}", line.what.bytes(), line.what.count, line.what.type.name,
                     line.what.op.name, line.what.root, formatSide(line.out_of_place, cpu_time),
                     formatSide(line.in_place, cpu_time));
}

void Table::printHeader(const RunInfo& info) const {
  const SizeRange& sizes = options_.sizes;
  const std::string step =
      sizes.factor ? fmt::format("{}(factor)", sizes.factor) : fmt::format("{}(bytes)", sizes.step_bytes);
  print(describeLibrary(info));
  print(fmt::format(
      "# Collective test starting: {}\n"
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {}\n"
      "#\n# Using devices\n",
      info.program, options_.threads, options_.gpus_per_thread, sizes.min_bytes, sizes.max_bytes, step,
      options_.warmup_iters, options_.iters, options_.agg_iters, options_.check_iters));
  for (const DeviceInfo& device : info.devices) {
    print(fmt::format("#  Rank {:>2} Pid {:>6} on {:>10} device {:>2} [{}] {}\n", device.rank, device.pid, device.host,
                      device.device, device.bus_id, device.name));
  }
  if (info.devices_shared) print("# Several ranks share a device.\n");
  std::string rounded;
  for (const TypeInfo& type : options_.types) {
    const bool whole = sizes.min_bytes % type.bytes == 0 && (sizes.factor || sizes.step_bytes % type.bytes == 0);
    if (!whole) rounded += std::string(" ") + type.name;
  }
  if (!rounded.empty()) print(fmt::format("# Sizes are rounded down to whole elements of{}.\n", rounded));
  const std::string half = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", options_.report_cpu_time ? "cputime" : "time",
                                       "algbw", "busbw", "#wrong");
  const std::string units = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  print(fmt::format("#\n#{:>51}  {:^31}  {:^31}\n#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}\n", "", "out-of-place",
                    "in-place", "size", "count", "type", "redop", "root", half, half,
                    options_.report_timestamps ? "  timestamp" : ""));
  print(fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "", "", units, units));
}

void Table::printLine(const Line& line) const {
  eraseProgress();
  print(formatLine(line, options_.report_cpu_time) +
        (options_.report_timestamps ? "  " + formatNow() + "\n" : std::string("\n")));
}

void Table::printFooter(const RunInfo& info, const Verdict& verdict) const {
  eraseProgress();
  const std::string wrong = verdict.checked ? fmt::format("{:.0f}", verdict.wrong) : "N/A";
  const std::string bandwidth = verdict.timed ? fmt::format("{:g}", verdict.bus_gbps) : "N/A";
  print(fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {} {}\n#\n", wrong,
                    verdict.resultsOk() ? "OK" : "FAILED", bandwidth, verdict.fastEnough() ? "" : "FAILED"));
  if (!verdict.fastEnough()) {
    print(fmt::format("# NCCL_TESTS_MIN_BW={:g}: the average must be at least {:g} GB/s\n", verdict.required_gbps,
                      0.9 * verdict.required_gbps));
  }
  for (const std::string& error : verdict.errors) print(fmt::format("# error: {}\n", error));
  print(fmt::format("# Collective test concluded: {}\n", info.program));
}

void Table::showProgress(uint64_t done, uint64_t total, const Case& next) const {
  if (!isatty(STDERR_FILENO)) return;
  std::fputs(fmt::format("\r\033[K[{}/{}] {} {} {}", done + 1, total, next.type.name, next.op.name,
                         formatBytes(static_cast<double>(next.bytes())))
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace perf
