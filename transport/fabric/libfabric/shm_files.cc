// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/libfabric/shm_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace rondo::fabric {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr const char* kForm = "rondo-%lu-%d-%llu-";

uint64_t pidNamespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// When the process started, in ticks since boot; 0 when it has ended.
unsigned long long startTime(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t nameEnd = text.rfind(')');  // the name may hold anything
  if (nameEnd == std::string::npos) return 0;
  std::istringstream fields(text.substr(nameEnd + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  unsigned long long start = 0;
  fields >> start;
  return start;
}

}  // namespace

std::string newShmName() {
  static std::atomic<unsigned> next{0};
  return fmt::format("rondo-{}-{}-{}-{}", pidNamespace(), getpid(), startTime(getpid()), next++);
}

void removeShmFile(const std::string& endpointName) {
  constexpr std::string_view kScheme = "fi_shm://";
  if (!endpointName.starts_with(kScheme)) return;
  unlink(fmt::format("{}/{}", kFolder, endpointName.substr(kScheme.size())).c_str());
}

std::string describeShmRoom() {
  std::error_code error;
  const auto space = std::filesystem::space(kFolder, error);
  if (error) return fmt::format("{}: {}", kFolder, error.message());
  return fmt::format(
      "{} has {} of {} MiB free, the shm provider wants about 16 MiB for each core of the host (NCCL_SHM_DISABLE=1 "
      "does without it)",
      kFolder, space.available >> 20, space.capacity >> 20);
}

void removeStaleShmFiles() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, error)) {
    unsigned long space = 0;
    int pid = 0;
    unsigned long long start = 0;
    if (std::sscanf(entry.path().filename().c_str(), kForm, &space, &pid, &start) != 3) continue;
    if (space != pidNamespace() || startTime(pid) == start) continue;
    unlink(entry.path().c_str());  // somebody else may have been faster
  }
}

}  // namespace rondo::fabric
