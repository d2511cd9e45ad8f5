// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The log, in the format users of NCCL know: "host:pid:tid [device] NCCL INFO text", warnings with time, file and line.
// NCCL_DEBUG (VERSION, WARN, INFO, ABORT, TRACE), NCCL_DEBUG_SUBSYS (list, ^ inverts) and NCCL_DEBUG_FILE (%h, %p)
// choose what is written and where; they are read at the first log call. Any thread; one write call per line; no log
// call takes a lock once they are read. A file that exists is appended to.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace rondo::log {

enum class Level { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kAbort = 4, kTrace = 5 };

enum Subsystem : uint64_t {
  kInit = 1u << 0,
  kColl = 1u << 1,
  kP2p = 1u << 2,
  kShm = 1u << 3,
  kNet = 1u << 4,
  kGraph = 1u << 5,
  kTuning = 1u << 6,
  kEnv = 1u << 7,
  kAlloc = 1u << 8,
  kCall = 1u << 9,
  kProxy = 1u << 10,
  kBootstrap = 1u << 11,
  kReg = 1u << 12,
  kDestroy = 1u << 13,
  kAll = ~uint64_t{0}
};

// True when a line of this level and subsystem would be written; cheap (one load after the first call). Warnings are of
// every subsystem.
bool enabled(Level level, uint64_t subsystem);

// The device number in the line's brackets for this thread; -1 (default): the line says [-].
void setThreadDevice(int device);

// file and line: nullptr and 0 where the line shall not name its source.
void writeLine(Level level, const char* file, int line, const std::string& text);

// Forgets the settings: the next log call reads the variables again. No other thread may log meanwhile.
void readAgain();

template <class... Args>
void info(uint64_t subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kInfo, subsystem))
    writeLine(Level::kInfo, nullptr, 0, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void trace(uint64_t subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kTrace, subsystem))
    writeLine(Level::kTrace, nullptr, 0, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rondo::log

// A macro because the line names its file and line number.
#define RONDO_WARN(...)                                                                                    \
  do {                                                                                                     \
    if (::rondo::log::enabled(::rondo::log::Level::kWarn, ::rondo::log::kAll))                             \
      ::rondo::log::writeLine(::rondo::log::Level::kWarn, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (0)
