// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The results as a JSON file, in nccl-tests' keys; booleans are booleans, and the environment is left out. Owned by the
// main thread of the first process.
#pragma once

#include <nlohmann/json.hpp>

#include "json_file.h"
#include "report.h"

namespace perf {

class JsonReport {
 public:
  // Opens the file at once; an existing one is kept and .1, .2 ... appended to the name. Throws UsageError.
  explicit JsonReport(const Options& options);

  void begin(const RunInfo& info);
  void add(const Line& line);
  // Writes the file.
  void finish(const Verdict& verdict);

 private:
  const Options& options_;
  JsonFile file_;
  nlohmann::ordered_json root_;
};

}  // namespace perf
