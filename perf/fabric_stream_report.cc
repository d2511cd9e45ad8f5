// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_report.h"

#include <cstdio>

#include "error.h"

namespace perf {
namespace {

constexpr int kFormatVersion = 1;

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string formatTime(double us) {
  return us >= 10000 ? fmt::format("{:.0f}", us) : fmt::format("{:.{}f}", us, us >= 100 ? 1 : 2);
}

}  // namespace

StreamReport::StreamReport(const StreamOptions& options) : options_(options) {
  if (!options.json_path.empty()) file_.emplace("--json", options.json_path);
  root_ = {{"version", kFormatVersion}, {"args", options.arguments}, {"results", nlohmann::ordered_json::array()}};
}

void StreamReport::begin(const std::string& provider) {
  root_["provider"] = provider;
  print(fmt::format("# fabric_stream: provider {} iterations {} warmup {}\n", provider, options_.iterations,
                    options_.warmup));
  print(fmt::format("#{:>11}  {:>10}  {:>6}  {:>9}  {:>9}  {:>7}  {:>7}\n", "size", "message", "flight", "operation",
                    "time", "", "#wrong"));
  print(
      fmt::format("#{:>11}  {:>10}  {:>6}  {:>9}  {:>9}  {:>7}  {:>7}\n", "(B)", "(B)", "", "", "(us)", "(GB/s)", ""));
}

void StreamReport::add(const StreamResult& result) {
  const StreamCase& what = result.what;
  wrong_ += result.wrong;
  print(fmt::format("{:>12}  {:>10}  {:>6}  {:>9}  {:>9}  {:>7.2f}  {:>7}\n", what.total_bytes, what.message_bytes,
                    what.in_flight, nameOf(what.operation), formatTime(result.averageUs()), result.gbps(),
                    result.wrong));
  root_["results"].push_back({{"size", what.total_bytes},
                              {"message", what.message_bytes},
                              {"in_flight", what.in_flight},
                              {"operation", nameOf(what.operation)},
                              {"time", result.averageUs()},
                              {"alg_bw", result.gbps()},
                              {"nwrong", result.wrong},
                              {"times", result.times_us}});
}

bool StreamReport::finish() {
  print(fmt::format("# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED"));
  root_["errors"] = nlohmann::ordered_json::array();
  writeJson();
  if (std::ferror(stdout)) throw Failure("stdout: write failed");
  return wrong_ == 0;
}

void StreamReport::fail(const std::string& text) {
  root_["errors"] = {text};
  writeJson();
}

void StreamReport::writeJson() {
  root_["out_of_bounds"] = {{"count", wrong_}, {"okay", wrong_ == 0}};
  if (file_) file_->write(root_);
}

}  // namespace perf
