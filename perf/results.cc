// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "results.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "error.h"

namespace perf {
namespace {

double readRequiredBandwidth(const Options& options) {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  if (!text || !*text) return 0;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end || !std::isfinite(value) || value < 0) {
    failUsage("NCCL_TESTS_MIN_BW={}: must be a number >= 0, in GB/s", text);
  }
  if (value > 0 && options.iters == 0) failUsage("NCCL_TESTS_MIN_BW={}: needs --iters of at least 1", text);
  return value;
}

}  // namespace

Results::Results(const Options& options, bool reports) : options_(options), reports_(reports), table_(options) {
  verdict_.required_gbps = readRequiredBandwidth(options);
}

void Results::openFile() {
  if (reports_ && !options_.json_path.empty()) json_.emplace(options_);
}

void Results::begin() {
  if (reports_) table_.printHeader(info_);
  if (json_) json_->begin(info_);
}

void Results::showProgress(uint64_t lines_in_all, const Case& next) const {
  if (reports_) table_.showProgress(lines_, lines_in_all, next);
}

void Results::add(const Line& line) {
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

int Results::conclude(const std::string& last_error) {
  verdict_.bus_gbps = bus_count_ ? bus_sum_ / static_cast<double>(bus_count_) : 0;
  if (!reports_) return verdict_.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
  if (!verdict_.ok() && !last_error.empty()) verdict_.errors.push_back(last_error);
  table_.printFooter(info_, verdict_);
  if (json_) json_->finish(verdict_);
  if (std::ferror(stdout)) throw Failure("stdout: write failed");
  return verdict_.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

void Results::fail(const std::string& text, int process) {
  report_mutex_.lock();  // never unlocked: this is the end
  const char* shared = info_.devices_shared ? " (several ranks share a device)" : "";
  std::fputs(fmt::format("{}: process {}: {}{}\n", info_.program, process, text, shared).c_str(), stderr);
  if (!json_) return;
  verdict_.errors.push_back(text);
  try {
    json_->finish(verdict_);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", info_.program, error.what()).c_str(), stderr);
  }
}

}  // namespace perf
