// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How the perf programs fail: UsageError is the user's mistake (exit status 2), found by every process alike, or, as
// LocalUsageError, perhaps by this one alone, which then ends all. Failure is a failed call of a library or of the
// system (exit status 1, ends all processes). Used by every thread; the thread's main function catches them.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace perf {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LocalUsageError : public UsageError {
 public:
  using UsageError::UsageError;
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void failUsage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace perf
