// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/event_loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/signals.h"

namespace rondo {

namespace {

constexpr EventLoop::Watch kWakeWatch = 0;
thread_local EventLoop* forking = nullptr;  // the loop whose watchMutex_ this thread holds over its fork

// The edge where exceptions of handlers end.
template <class Function>
void guarded(const char* what, Function&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    RONDO_WARN("service thread: {}: {}", what, error.what());
  }
}

}  // namespace

EventLoop::EventLoop() : pid_(getpid()) {}

std::atomic<EventLoop*> EventLoop::current_{nullptr};

EventLoop& EventLoop::get() {
  static const int forkHandlers = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
  if (forkHandlers != 0) failErrno(forkHandlers, "pthread_atfork");
  EventLoop* loop = current_.load(std::memory_order_acquire);  // pairs with the exchange below: shows the object
  // Never freed: a forked child leaves its parent's copy alone, and the service thread may outlive main.
  while (loop == nullptr || !loop->ownedByThisProcess()) {
    auto* fresh = new EventLoop;
    if (current_.compare_exchange_strong(loop, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *loop;
}

// A child's child must not look at the first parent's loop: those descriptors may have been given to others since.
void EventLoop::beforeFork() {
  EventLoop* loop = current_.load(std::memory_order_acquire);  // pairs with the exchange in get
  forking = loop != nullptr && loop->ownedByThisProcess() ? loop : nullptr;
  if (forking != nullptr) forking->watchMutex_.lock();
}

void EventLoop::afterForkInParent() {
  if (forking != nullptr) forking->watchMutex_.unlock();
}

// Only async-signal-safe calls. The descriptors stay taken, as their owners still believe to have them.
void EventLoop::afterForkInChild() {
  if (forking == nullptr) return;
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const auto& [watch, watched] : forking->watches_)
    if (nothing >= 0) dup3(nothing, watched.fd, O_CLOEXEC);
  if (nothing >= 0) close(nothing);
  forking->watchMutex_.unlock();
}

bool EventLoop::ownedByThisProcess() const {
  return pid_ == getpid();
}

void EventLoop::ensureThread() {
  if (running_) return;
  if (thread_.joinable()) thread_.join();  // it has left its loop and takes no lock any more
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) failErrno("epoll_create1 for the service thread");
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) failErrno("eventfd for the service thread");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeWatch;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) failErrno("epoll_ctl for the service thread");
  wakeFd_ = wake_.get();
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
    running_ = true;
  } catch (const std::system_error& error) {
    failErrno(error.code().value(), "cannot start the service thread");
  }
}

void EventLoop::runOnThread(std::function<void()> task) {
  bool done = false;
  std::exception_ptr error;
  post([&] {
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    done = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done; });
  if (error) std::rethrow_exception(error);
}

void EventLoop::add(std::shared_ptr<EventHandler> handler) {
  {
    std::lock_guard lock(mutex_);
    ensureThread();
    ++handlerCount_;
  }
  const EventHandler* key = handler.get();
  try {
    runOnThread([&] {
      entries_.push_back({handler, Clock::now() + handler->tickPeriod()});
      handler->onStart();
    });
  } catch (...) {
    remove(key);
    throw;
  }
}

void EventLoop::remove(const EventHandler* handler) {
  runOnThread([this, handler] { stop(handler); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return handlerCount_ > 0 || !running_; });
  if (!running_ && thread_.joinable()) thread_.join();
}

void EventLoop::removeLater(const EventHandler* handler) {
  stopping_.push_back(handler);
}

void EventLoop::stop(const EventHandler* handler) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [handler](const Entry& candidate) { return candidate.handler.get() == handler; });
  if (entry == entries_.end()) return;
  const auto owner = std::move(entry->handler);
  entries_.erase(entry);
  owner->onStop();
  std::lock_guard lock(mutex_);
  --handlerCount_;
}

void EventLoop::post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  const uint64_t one = 1;
  // Only fails when the counter is full, and then the thread wakes anyway.
  [[maybe_unused]] const ssize_t n = write(wakeFd_, &one, sizeof(one));
}

EventLoop::Watch EventLoop::watch(int fd, uint32_t events, std::function<void(uint32_t)> onEvents) {
  const Watch watch = nextWatch_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) failErrno("epoll_ctl");
  std::lock_guard lock(watchMutex_);
  watches_[watch] = {fd, std::make_shared<std::function<void(uint32_t)>>(std::move(onEvents))};
  return watch;
}

void EventLoop::change(Watch watch, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) failErrno("epoll_ctl");
}

void EventLoop::forget(Watch watch, int fd) {
  // Explicit, as a forked child may keep the connection, and with it the registration, alive.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  std::shared_ptr<std::function<void(uint32_t)>> last;  // destroyed after the lock: it may own what it serves
  std::lock_guard lock(watchMutex_);
  const auto entry = watches_.find(watch);
  if (entry == watches_.end()) return;
  last = std::move(entry->second.onEvents);
  watches_.erase(entry);
}

void EventLoop::run() {
  pthread_setname_np(pthread_self(), "rondo-service");
  while (!finishIfIdle()) {
    runEvents();
    runTasks();
    runTicks();
    while (!stopping_.empty()) {
      const EventHandler* handler = stopping_.back();
      stopping_.pop_back();
      guarded("stop", [&] { stop(handler); });
    }
  }
}

bool EventLoop::finishIfIdle() {
  std::lock_guard lock(mutex_);
  if (handlerCount_ > 0 || !tasks_.empty()) return false;
  epoll_.reset();
  wake_.reset();
  wakeFd_ = -1;
  running_ = false;
  changed_.notify_all();
  return true;
}

void EventLoop::runTasks() {
  std::vector<std::function<void()>> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) guarded("task", task);
}

void EventLoop::runTicks() {
  const auto now = Clock::now();
  for (Entry& entry : entries_) {
    if (now < entry.nextTick) continue;
    entry.nextTick = now + entry.handler->tickPeriod();
    guarded("tick", [&] { entry.handler->onTick(now); });
  }
}

void EventLoop::runEvents() {
  auto next = Clock::now() + std::chrono::seconds(1);
  for (const Entry& entry : entries_) next = std::min(next, entry.nextTick);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  epoll_event events[64];
  const int n = epoll_wait(epoll_.get(), events, 64, static_cast<int>(std::max<int64_t>(wait.count(), 0)));
  for (int i = 0; i < n; ++i) {
    if (events[i].data.u64 == kWakeWatch) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t bytes = read(wake_.get(), &count, sizeof(count));
      continue;
    }
    const auto entry = watches_.find(events[i].data.u64);
    if (entry == watches_.end()) continue;         // forgotten by an earlier event of this batch
    const auto function = entry->second.onEvents;  // stays alive when it forgets itself
    guarded("event", [&] { (*function)(events[i].events); });
  }
}

}  // namespace rondo
