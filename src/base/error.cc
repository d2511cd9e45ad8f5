// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/error.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include "src/base/fd.h"

namespace rondo {

std::string errnoText(int error) {
  const char* name = strerrorname_np(error);
  return fmt::format("{} ({}{})", strerrordesc_np(error) != nullptr ? strerrordesc_np(error) : "unknown error",
                     name != nullptr ? name : std::to_string(error), error == EMFILE ? ", " + descriptorLimit() : "");
}

void failErrno(int error, const std::string& what) { fail(ncclSystemError, "{}: {}", what, errnoText(error)); }

void failErrno(const std::string& what) { failErrno(errno, what); }

namespace {
std::mutex lastErrorMutex;  // protects lastErrorText; a leaf lock
std::string& lastErrorText() {
  static auto* text = new std::string;  // never destroyed: atexit handlers of the program may still ask
  return *text;
}
}  // namespace

void setLastError(const std::string& text) {
  std::lock_guard lock(lastErrorMutex);
  lastErrorText() = text;
}

const char* lastError() {
  thread_local std::string copy;  // stays valid until this thread asks again
  std::lock_guard lock(lastErrorMutex);
  copy = lastErrorText();
  return copy.c_str();
}

}  // namespace rondo
