// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/event.h"

#include <cuda_runtime.h>

#include <chrono>
#include <utility>

#include "device/emu/stream.h"

namespace rondo::emu {

void EventRecord::reach() {
  time_ns_ = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  std::lock_guard lock(mutex_);
  reached_.store(true, std::memory_order_release);  // pairs with reached(): makes time_ns_ and the work before visible
  reachedNow_.notify_all();
}

void EventRecord::wait() const {
  if (reached()) return;
  std::unique_lock lock(mutex_);
  reachedNow_.wait(lock, [&] { return reached(); });
}

bool EventRecord::waitAWhile() const {
  if (reached() || Stream::onStreamThread()) return reached();
  std::unique_lock lock(mutex_);
  return reachedNow_.wait_for(lock, kQueryWait, [&] { return reached(); });
}

bool Event::timed() const {
  return (flags_ & cudaEventDisableTiming) == 0;
}

std::shared_ptr<EventRecord> Event::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

void Event::setLatest(std::shared_ptr<EventRecord> record) {
  std::lock_guard lock(mutex_);
  latest_ = std::move(record);
}

}  // namespace rondo::emu
