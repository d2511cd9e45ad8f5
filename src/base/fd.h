// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A file descriptor with one owner, closed with it. Not thread-safe.
#pragma once

#include <unistd.h>

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

}  // namespace rondo
