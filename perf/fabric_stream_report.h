// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// fabric_stream's table on stdout and its JSON file. Owned by the receiver's main thread.
#pragma once

#include <optional>

#include "fabric_stream_receiver.h"
#include "json_file.h"

namespace perf {

class StreamReport {
 public:
  // Throws UsageError when the JSON file cannot be written.
  explicit StreamReport(const StreamOptions& options);

  void begin(const std::string& provider);
  void add(const StreamResult& result);
  // Whether all contents were right.
  bool finish();
  // Instead of finish: what ended the run.
  void fail(const std::string& text);

 private:
  void writeJson();

  const StreamOptions& options_;
  std::optional<JsonFile> file_;
  nlohmann::ordered_json root_;
  uint64_t wrong_ = 0;
};

}  // namespace perf
