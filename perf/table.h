// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The table on stdout, in nccl-tests' columns, and a progress line on stderr where that is a terminal. Owned by the
// main thread of the first process.
#pragma once

#include <string>

#include "report.h"

namespace perf {

class Table {
 public:
  explicit Table(const Options& options) : options_(options) {}

  void printHeader(const RunInfo& info) const;
  void printLine(const Line& line) const;
  void printFooter(const RunInfo& info, const Verdict& verdict) const;
  void showProgress(uint64_t done, uint64_t total, const Case& next) const;

 private:
  const Options& options_;
};

// One line of the table without its end; separate for the tests.
std::string formatLine(const Line& line, bool cpu_time);

}  // namespace perf
