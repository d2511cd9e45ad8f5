// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The file that a JSON report goes to: opened when the program starts, so that a path that cannot be written is known
// before anything is measured. Owned by the report.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace perf {

class JsonFile {
 public:
  // An existing file is kept and .1, .2 ... appended to the name. Throws LocalUsageError, which names `flag`.
  JsonFile(const std::string& flag, const std::string& path);

  void write(const nlohmann::ordered_json& root);

 private:
  std::string flag_;
  std::string path_;
  std::ofstream file_;
};

}  // namespace perf
