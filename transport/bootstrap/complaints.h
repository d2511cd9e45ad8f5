// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Warnings about strangers, who may be many: the first ones singly, the rest as a number, at most once in ten seconds.
// One thread at a time.
#pragma once

#include <chrono>
#include <string>

#include "src/base/socket.h"

namespace rondo {

class Complaints {
 public:
  // place begins every line.
  explicit Complaints(std::string place) : place_(std::move(place)) {}

  void add(const std::string& what);
  void tick(Clock::time_point now);
  // What is not told yet is told now.
  void flush();

 private:
  const std::string place_;
  int told_ = 0;         // singly
  uint64_t untold_ = 0;  // since the last line
  std::string last_;     // the latest of these
  Clock::time_point nextSum_{};
};

}  // namespace rondo
