// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A file descriptor with one owner, closed with it. Not thread-safe. And how many of them a process may have.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace rondo {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    // Not repeated on EINTR: Linux has closed the descriptor by then.
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// For errors that say there were too many.
inline std::string descriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "ulimit -n: unlimited";
  return "ulimit -n: " + std::to_string(limit.rlim_cur);
}

}  // namespace rondo
