// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Events. A record is one cudaEventRecord: reached when the work before it is done, and never again changed; an event
// points to its latest record, and who waits, waits for the record that was the latest at his call. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace rondo::emu {

class Device;

class EventRecord {
 public:
  explicit EventRecord(uint64_t streamId) : streamId_(streamId) {}

  uint64_t streamId() const { return streamId_; }
  bool reached() const { return reached_.load(std::memory_order_acquire); }  // pairs with reach()
  void reach();
  // Sleeps until reached.
  void wait() const;
  // As wait, for kQueryWait (stream.h) at most, with the same reason; true if reached.
  bool waitAWhile() const;
  // Valid once reached.
  int64_t time_ns() const { return time_ns_; }

 private:
  const uint64_t streamId_;
  int64_t time_ns_ = 0;  // written before reached_
  mutable std::mutex mutex_;  // protects the write of reached_; a leaf lock
  mutable std::condition_variable reachedNow_;
  std::atomic<bool> reached_{false};
};

class Event {
 public:
  Event(Device& device, unsigned flags) : device_(device), flags_(flags) {}

  Device& device() const { return device_; }
  bool timed() const;

  // nullptr before the first record.
  std::shared_ptr<EventRecord> latest() const;
  void setLatest(std::shared_ptr<EventRecord> record);

 private:
  Device& device_;
  const unsigned flags_;
  mutable std::mutex mutex_;  // protects latest_; a leaf lock
  std::shared_ptr<EventRecord> latest_;
};

}  // namespace rondo::emu
