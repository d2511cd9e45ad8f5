// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/stream.h"

#include <sys/prctl.h>
#include <pthread.h>

#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "device/emu/device.h"
#include "src/base/signals.h"

namespace rondo::emu {
namespace {

thread_local bool runningTask = false;

uint64_t nextStreamId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Stream::Stream(Device& device, unsigned flags, int priority)
    : device_(device), flags_(flags), priority_(priority), id_(nextStreamId()) {}

bool Stream::blocking() const {
  return (flags_ & cudaStreamNonBlocking) == 0;
}

bool Stream::onStreamThread() {
  return runningTask;
}

uint64_t Stream::submit(std::function<void()> run, TaskKind kind) {
  std::lock_guard lock(mutex_);
  if (!started_) startThreadLocked();
  queue_.push_back({std::move(run), kind});
  const uint64_t number = submitted_.load(std::memory_order_relaxed) + 1;
  submitted_.store(number, std::memory_order_release);
  if (queue_.size() == 1) workReady_.notify_one();
  return number;
}

void Stream::startThreadLocked() {
  const SignalsBlocked blocked;
  // Detached: a process may exit while its streams are busy, as it may with a GPU. The thread keeps the stream alive.
  std::thread([self = shared_from_this()] { self->threadMain(); }).detach();
  started_ = true;
}

void Stream::threadMain() {
  char name[16];
  std::snprintf(name, sizeof name, "emu%d.%u", device_.index(), static_cast<unsigned>(id_ % 1000000));
  pthread_setname_np(pthread_self(), name);
  prctl(PR_SET_TIMERSLACK, 1000);  // ns: a waiting kernel's naps shall be as short as they say (grid.cc)
  runningTask = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    workReady_.wait(lock, [&] { return !queue_.empty() || closed_; });
    if (queue_.empty()) break;
    {
      Task task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      runTask(task);
    }  // what the task held is gone before it counts as done
    lock.lock();
    // Pairs with the acquire in done(): makes the task's effects visible.
    completed_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (waiters_ > 0) taskDone_.notify_all();
  }
  lock.unlock();
  device_.forget(*this);
}

void Stream::runTask(Task& task) {
  if (task.kind == TaskKind::kWork && device_.failure() != cudaSuccess) return;
  try {
    task.run();
  } catch (const std::exception& error) {
    device_.fail(cudaErrorLaunchFailure, error.what());
  } catch (...) {
    device_.fail(cudaErrorLaunchFailure, "unknown exception");
  }
}

bool Stream::done(uint64_t number) const {
  return completed_.load(std::memory_order_acquire) >= number;  // pairs with threadMain()
}

void Stream::wait(uint64_t number) {
  if (done(number)) return;
  std::unique_lock lock(mutex_);
  ++waiters_;
  taskDone_.wait(lock, [&] { return done(number); });
  --waiters_;
}

bool Stream::waitAWhile(uint64_t number) {
  if (done(number) || onStreamThread()) return done(number);
  std::unique_lock lock(mutex_);
  ++waiters_;
  taskDone_.wait_for(lock, kQueryWait, [&] { return done(number); });
  --waiters_;
  return done(number);
}

void Stream::close() {
  std::unique_lock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  workReady_.notify_one();
  if (started_) return;  // the thread forgets it when the queue is empty
  lock.unlock();
  device_.forget(*this);
}

}  // namespace rondo::emu
