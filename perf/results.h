// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The lines of a run, their verdict, and who is told: the table and the JSON file on the first process, nobody on the
// others, which keep the verdict too. Owned by the main thread; fail() may come from any.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "options.h"
#include "report.h"
#include "report_json.h"
#include "table.h"

namespace perf {

class Results {
 public:
  // `reports`: whether this is the process that prints. Throws UsageError.
  Results(const Options& options, bool reports);

  RunInfo& info() { return info_; }

  // Throws LocalUsageError.
  void openFile();
  // When info() is complete.
  void begin();
  void showProgress(uint64_t lines_in_all, const Case& next) const;
  void add(const Line& line);
  // The exit status. `last_error` is the library's, if any.
  int conclude(const std::string& last_error);

  // Reports what ended the run. Only the first caller returns, and must then end the process.
  void fail(const std::string& text, int process);

 private:
  const Options& options_;
  bool reports_;
  RunInfo info_;
  Verdict verdict_;
  uint64_t lines_ = 0;
  double bus_sum_ = 0;
  uint64_t bus_count_ = 0;
  Table table_;
  std::mutex report_mutex_;  // json_: a failing thread finishes it, the main thread fills it
  std::optional<JsonReport> json_;
};

}  // namespace perf
