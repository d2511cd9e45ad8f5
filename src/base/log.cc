// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/log.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/host.h"

namespace rondo::log {

namespace {

// What the variables say, in one word so that a log call reads it at once: bits 60-62 level, bit 63 "read", the rest
// the subsystems. 0: not read yet.
std::atomic<uint64_t> settings{0};
std::atomic<int> output{STDOUT_FILENO};
std::mutex readMutex;  // protects reading the variables; log calls take it only before the first reading has ended
thread_local int threadDevice = -1;

constexpr uint64_t kRead = uint64_t{1} << 63;
constexpr int kLevelShift = 60;
constexpr uint64_t kSubsystemBits = (uint64_t{1} << kLevelShift) - 1;

struct SubsystemName {
  std::string_view name;
  uint64_t bits;
};
// Names without bits are NCCL's subsystems that have no counterpart here.
constexpr SubsystemName kSubsystems[] = {
    {"INIT", kInit},   {"COLL", kColl},           {"P2P", kP2p},         {"SHM", kShm},     {"NET", kNet},
    {"GRAPH", kGraph}, {"TUNING", kTuning},       {"ENV", kEnv},         {"ALLOC", kAlloc}, {"CALL", kCall},
    {"PROXY", kProxy}, {"BOOTSTRAP", kBootstrap}, {"REG", kReg},         {"NVLS", 0},       {"PROFILE", 0},
    {"RAS", 0},        {"ALLOC_HOST", 0},         {"DESTROY", kDestroy}, {"ALL", kAll},
};

bool sameWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

Level parseLevel(const std::string& text) {
  if (sameWord(text, "VERSION")) return Level::kVersion;
  if (sameWord(text, "WARN")) return Level::kWarn;
  if (sameWord(text, "INFO")) return Level::kInfo;
  if (sameWord(text, "ABORT")) return Level::kAbort;
  if (sameWord(text, "TRACE")) return Level::kTrace;
  return Level::kNone;
}

uint64_t parseSubsystems(std::string_view text) {
  const bool invert = !text.empty() && text.front() == '^';
  if (invert) text.remove_prefix(1);
  uint64_t bits = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    for (const SubsystemName& known : kSubsystems)
      if (sameWord(known.name, text.substr(0, comma))) bits |= known.bits;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return (invert ? ~bits : bits) & kSubsystemBits;
}

std::string expandPath(const std::string& pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h' || next == 'p' || next == '%') {
      path += next == 'h' ? hostName() : next == 'p' ? std::to_string(getpid()) : "%";
      ++i;
    } else {
      path += pattern[i];
    }
  }
  return path;
}

void writeAll(int fd, const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(fd, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nowhere to report it
    done += static_cast<size_t>(n);
  }
}

// Appends, so that ranks that share one file do not cut each other's lines.
int openFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
  if (fd >= 0) return fd;
  const int error = errno;
  writeAll(STDERR_FILENO, fmt::format("{} NCCL WARN NCCL_DEBUG_FILE={}: open: {}; writing to standard output instead\n",
                                      processName(), path, errnoText(error)));
  return STDOUT_FILENO;
}

uint64_t readSettings() {
  std::lock_guard lock(readMutex);
  if (const uint64_t done = settings.load(std::memory_order_acquire)) return done;  // pairs with the release below
  const Level level = parseLevel(env::text("NCCL_DEBUG").value_or(""));
  const uint64_t subsystems = parseSubsystems(env::text("NCCL_DEBUG_SUBSYS").value_or("INIT,BOOTSTRAP,ENV"));
  if (level > Level::kVersion) {
    if (const auto pattern = env::text("NCCL_DEBUG_FILE")) output.store(openFile(expandPath(*pattern)));
  }
  const uint64_t value = kRead | (static_cast<uint64_t>(level) << kLevelShift) | subsystems;
  settings.store(value, std::memory_order_release);  // pairs with the loads in enabled and readSettings: shows output
  return value;
}

std::string timeText() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

const char* levelName(Level level) {
  switch (level) {
    case Level::kNone:
    case Level::kVersion:
      return "VERSION";
    case Level::kWarn:
      return "WARN";
    case Level::kInfo:
      return "INFO";
    case Level::kAbort:
      return "ABORT";
    case Level::kTrace:
      return "TRACE";
  }
  return "?";
}

}  // namespace

bool enabled(Level level, uint64_t subsystem) {
  uint64_t value = settings.load(std::memory_order_acquire);  // pairs with the release in readSettings
  if (value == 0) value = readSettings();
  const auto chosen = static_cast<Level>((value >> kLevelShift) & 7);
  if (level == Level::kNone || level > chosen) return false;
  return level <= Level::kWarn || (value & kSubsystemBits & subsystem) != 0;
}

void setThreadDevice(int device) {
  threadDevice = device;
}

void writeLine(Level level, const char* file, int line, const std::string& text) {
  if (level == Level::kVersion) return writeAll(output.load(), text + "\n");
  const std::string device = threadDevice < 0 ? "-" : std::to_string(threadDevice);
  std::string result;
  if (level == Level::kWarn) result = fmt::format("[{}] ", timeText());
  result += fmt::format("{}:{} [{}] ", processName(), gettid(), device);
  if (file != nullptr) {
    const char* slash = std::strrchr(file, '/');
    result += fmt::format("{}:{} ", slash != nullptr ? slash + 1 : file, line);
  }
  writeAll(output.load(), fmt::format("{}NCCL {} {}\n", result, levelName(level), text));
}

void readAgain() {
  std::lock_guard lock(readMutex);
  const int previous = output.exchange(STDOUT_FILENO);
  if (previous != STDOUT_FILENO) close(previous);
  settings.store(0, std::memory_order_release);  // pairs with the load in enabled
}

}  // namespace rondo::log
