// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A rank in a process of its own, and its director's end of it: they talk over a socket pair in whole messages. A rank
// that dies or does not answer in time is an exception of the director's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace rondo::test {

// One end of the socket pair. The end of the other side, and 60 s of silence, are std::runtime_error.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void tell(const void* data, size_t bytes) const;
  void hear(void* data, size_t bytes) const;
  bool hasNews() const;

  template <class Value>
  void tell(const Value& value) const { tell(&value, sizeof(value)); }
  template <class Value>
  Value hear() const {
    Value value;
    hear(&value, sizeof(value));
    return value;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

class GuardedRank {
 public:
  // Forks; body runs in the child, whose exit status is 1 when it throws. The parent must have no threads.
  GuardedRank(const std::string& name, const std::function<void(const Line&)>& body);
  ~GuardedRank();
  GuardedRank(const GuardedRank&) = delete;
  GuardedRank& operator=(const GuardedRank&) = delete;

  const Line& line() const { return line_; }
  pid_t pid() const { return pid_; }
  int descriptors() const;  // it holds now
  // Its end, of which the exit status must be 0.
  void finish();

 private:
  const std::string name_;
  pid_t pid_ = -1;
  Line line_{-1};
};

}  // namespace rondo::test
