// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The service thread: one epoll loop per process that serves the bootstrap roots and the control connections of all
// communicators. It starts with the first handler and ends with the last. The thread and its descriptors belong to the
// loop; handlers are shared between the loop and whoever added them.
//
// Handlers, watches and posted functions run on the service thread only, and must not block. In a forked child the
// parent's loop is never touched: get() gives the child one of its own, and the watched descriptors stand for
// /dev/null, so that a child that outlives its parent does not keep the parent's connections open.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/fd.h"
#include "src/base/socket.h"

namespace rondo {

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void onStart() = 0;
  virtual void onTick(Clock::time_point now) = 0;
  virtual void onStop() = 0;  // last call: forget every watch
  virtual std::chrono::milliseconds tickPeriod() const = 0;
};

class EventLoop {
 public:
  using Watch = uint64_t;

  static EventLoop& get();

  // Any thread. onStart has run when add returns.
  void add(std::shared_ptr<EventHandler> handler);
  // Any thread but the service thread. When it returns the handler has stopped; after the last one the thread has
  // ended. The caller must hold no lock that a handler takes.
  void remove(const EventHandler* handler);
  // Any thread, as long as a handler is there.
  void post(std::function<void()> task);
  bool ownedByThisProcess() const;

  // Service thread only.
  void removeLater(const EventHandler* handler);
  Watch watch(int fd, uint32_t events, std::function<void(uint32_t)> onEvents);
  void change(Watch watch, int fd, uint32_t events);
  void forget(Watch watch, int fd);

 private:
  struct Entry {
    std::shared_ptr<EventHandler> handler;
    Clock::time_point nextTick;
  };

  EventLoop();
  static void beforeFork();
  static void afterForkInParent();
  static void afterForkInChild();
  void run();
  bool finishIfIdle();
  void runTasks();
  void runTicks();
  void runEvents();
  void stop(const EventHandler* handler);
  void runOnThread(std::function<void()> task);
  void ensureThread();

  static std::atomic<EventLoop*> current_;
  const pid_t pid_;

  std::mutex mutex_;  // protects what follows; nothing else is locked under it
  std::condition_variable changed_;
  std::thread thread_;
  bool running_ = false;
  size_t handlerCount_ = 0;
  std::vector<std::function<void()>> tasks_;
  int wakeFd_ = -1;  // descriptor of wake_, for post

  // Service thread only (made before it starts).
  Fd epoll_;
  Fd wake_;
  struct Watched {
    int fd;
    std::shared_ptr<std::function<void(uint32_t)>> onEvents;
  };
  Watch nextWatch_ = 1;
  std::mutex watchMutex_;  // held while watches_ changes, and by a thread that forks; a leaf lock
  std::map<Watch, Watched> watches_;
  std::vector<Entry> entries_;
  std::vector<const EventHandler*> stopping_;
};

}  // namespace rondo
