// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "json_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "error.h"

namespace perf {
namespace {

std::string findFreeName(const std::string& path) {
  std::string name = path;
  for (int i = 1; std::filesystem::exists(name); ++i) name = fmt::format("{}.{}", path, i);
  return name;
}

}  // namespace

JsonFile::JsonFile(const std::string& flag, const std::string& path)
    : flag_(flag), path_(findFreeName(path)), file_(path_) {
  if (!file_) throw LocalUsageError(fmt::format("{} {}: cannot be written: {}", flag_, path_, std::strerror(errno)));
}

void JsonFile::write(const nlohmann::ordered_json& root) {
  file_ << root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  file_.flush();
  if (!file_) fail("{} {}: write failed: {}", flag_, path_, std::strerror(errno));
}

}  // namespace perf
