// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The one exception class of host code. It crosses no edge: the C API, a thread's main function and a C callback each
// catch it. The function that decides which error it is writes the text (what, where, allowed range); others let it pass.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "rondo/rondo.h"

namespace rondo {

constexpr int kNoPeer = -1;

class Error : public std::exception {
 public:
  Error(ncclResult_t code, std::string text, int peer = kNoPeer) : code_(code), text_(std::move(text)), peer_(peer) {}

  ncclResult_t code() const { return code_; }
  const std::string& text() const { return text_; }
  int peer() const { return peer_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ncclResult_t code_;
  std::string text_;
  int peer_;
};

template <class... Args>
[[noreturn]] void fail(ncclResult_t code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// A failed system call: "what: Connection refused (ECONNREFUSED)". Reads errno first.
[[noreturn]] void failErrno(const std::string& what);
[[noreturn]] void failErrno(int error, const std::string& what);
std::string errnoText(int error);

// The process's last error, what ncclGetLastError returns. Thread-safe.
void setLastError(const std::string& text);
const char* lastError();

}  // namespace rondo
