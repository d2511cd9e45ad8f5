// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A stream: a queue of tasks and one OS thread that runs them in order. The thread starts with the first task and ends
// when the stream is closed and its queue is empty. Created by device.h's functions, held by shared pointers (the
// handle table, the device's list, waiting tasks, its own thread). Any thread submits and waits; waiters and the idle
// thread sleep. Which stream waits for which is stream_order.h's business.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace rondo::emu {

class Device;

// Long enough for polling to cost a hundredth of a core, short enough for programs that do other work meanwhile.
constexpr auto kQueryWait = std::chrono::microseconds(200);

// kWork is left out once the device has failed; kOrder (waits, event records, frees) always runs, so that nobody waits
// for ever behind a failure.
enum class TaskKind { kWork, kOrder };

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Device& device, unsigned flags, int priority);

  Device& device() const { return device_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  uint64_t id() const { return id_; }
  // Whether it takes part in the null stream's order.
  bool blocking() const;

  // Appends a task; its number counts from 1. Throws std::system_error if the thread cannot be started (nothing is
  // queued then). Not after close().
  uint64_t submit(std::function<void()> run, TaskKind kind);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  bool done(uint64_t number) const;
  bool idle() const { return done(submitted()); }
  // Sleeps until the task is done. Never from this stream's own thread.
  void wait(uint64_t number);
  // As wait, for kQueryWait at most; true if the task is done. What a query does before it says "not yet": a program that
  // polls would otherwise take half of the core that the kernel it waits for runs on.
  bool waitAWhile(uint64_t number);

  // No further task comes; returns at once.
  void close();

  // True while this thread runs a task of any stream.
  static bool onStreamThread();

 private:
  struct Task {
    std::function<void()> run;
    TaskKind kind;
  };

  void startThreadLocked();
  void threadMain();
  void runTask(Task& task);

  Device& device_;
  const unsigned flags_;
  const int priority_;
  const uint64_t id_;

  std::mutex mutex_;  // protects queue_, started_, closed_, waiters_, and the writes of the two counts; a leaf lock
  std::condition_variable workReady_;
  std::condition_variable taskDone_;
  std::deque<Task> queue_;
  bool started_ = false;
  bool closed_ = false;
  int waiters_ = 0;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
};

// A place in a stream's order: the work up to the task 'number'.
struct StreamPoint {
  std::shared_ptr<Stream> stream;
  uint64_t number;

  bool done() const { return stream->done(number); }
  void wait() const { stream->wait(number); }
  bool waitAWhile() const { return stream->waitAWhile(number); }
};

}  // namespace rondo::emu
