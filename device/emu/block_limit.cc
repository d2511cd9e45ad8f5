// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/block_limit.h"

namespace rondo::emu {

bool BlockLimit::acquire(int count) {
  if (count < 0 || count > limit_) return false;
  std::unique_lock lock(mutex_);
  const uint64_t ticket = nextTicket_++;
  changed_.wait(lock, [&] { return served_ == ticket && free_ >= count; });
  free_ -= count;
  ++served_;
  changed_.notify_all();  // the next in line may fit as well
  return true;
}

void BlockLimit::release(int count) {
  std::lock_guard lock(mutex_);
  free_ += count;
  changed_.notify_all();
}

}  // namespace rondo::emu
