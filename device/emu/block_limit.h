// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The limit of blocks resident on one device: a kernel launch acquires its whole grid before its first block runs, and
// releases it when the last has ended. Owned by the Device; acquired by stream threads, which sleep. First come, first
// served: a large grid is not overtaken for ever by small ones.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rondo::emu {

class BlockLimit {
 public:
  explicit BlockLimit(int limit) : limit_(limit), free_(limit) {}

  int limit() const { return limit_; }

  // Sleeps until 'count' blocks are free and all earlier callers have theirs. False, at once, if count is negative or
  // more than limit(): it would never fit.
  bool acquire(int count);
  void release(int count);

 private:
  const int limit_;
  std::mutex mutex_;  // protects the rest; a leaf lock
  std::condition_variable changed_;
  int free_;
  uint64_t nextTicket_ = 0;
  uint64_t served_ = 0;
};

}  // namespace rondo::emu
