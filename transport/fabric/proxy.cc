// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/proxy.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/signals.h"

namespace rondo::fabric {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds kNap{20};
constexpr microseconds kLongNap{50};
constexpr microseconds kHelpedNap{100};  // a kernel polls meanwhile, and once more when it ends
constexpr unsigned kShortNaps = 100;
// A yield that takes this long has let somebody run who needs this core.
constexpr microseconds kLongYield{5};
// After the last movement the network is polled a little longer: it may owe a peer an answer.
constexpr milliseconds kLinger{5};

}  // namespace

std::shared_ptr<Proxy> Proxy::ofDevice(const ProxyOptions& options) {
  static std::mutex mutex;
  static auto* proxies = new std::map<std::pair<pid_t, int>, std::weak_ptr<Proxy>>;  // outlives every thread
  std::lock_guard lock(mutex);
  std::weak_ptr<Proxy>& known = (*proxies)[{getpid(), options.device}];
  if (auto proxy = known.lock()) return proxy;
  const auto proxy = std::make_shared<Proxy>(options);
  known = proxy;
  return proxy;
}

Proxy::Proxy(const ProxyOptions& options)
    : options_(options), pid_(getpid()), idleHelp_(std::make_unique<runtime::IdleHelp>([this] { return help(); })) {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    fail(ncclSystemError, "cannot start the proxy thread of device {}: {}", options_.device, error.what());
  }
}

Proxy::~Proxy() {
  if (pid_ != getpid()) {
    thread_.detach();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
  idleHelp_.reset();
}

void Proxy::add(std::shared_ptr<ProxyClient> client) {
  {
    std::lock_guard lock(mutex_);
    wanted_.push_back(std::move(client));
    ++changes_;
  }
  wake();
}

void Proxy::remove(const ProxyClient* client) {
  if (pid_ != getpid()) return;
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const auto& own) { return own.get() == client; });
  if (found == wanted_.end()) return;
  wanted_.erase(found);
  const uint64_t change = ++changes_;
  lock.unlock();
  wake();
  lock.lock();
  changed_.wait(lock, [&] { return taken_ >= change; });
}

// Either the thread sees the new count before it sleeps, or this thread sees that it sleeps: both are sequentially
// consistent.
void Proxy::wake() {
  wakes_.fetch_add(1);
  if (!sleeping_.load()) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool Proxy::takeChanges() {
  std::lock_guard turn(turn_);
  std::lock_guard lock(mutex_);
  if (taken_ != changes_) {
    clients_ = wanted_;
    taken_ = changes_;
    changed_.notify_all();
  }
  return !ending_;
}

// With turn_ held.
bool Proxy::makePass() {
  bool moved = false;
  for (const auto& client : clients_) {
    if (client->progress()) moved = true;
  }
  return moved;
}

bool Proxy::help() {
  std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return false;
  helped_.fetch_add(1, std::memory_order_relaxed);
  return makePass();
}

void Proxy::run() {
  using Clock = std::chrono::steady_clock;
  log::setThreadDevice(options_.device);
  pthread_setname_np(pthread_self(), "rondo-proxy");
  prctl(PR_SET_TIMERSLACK, 1000);  // ns: naps shall be as short as they say
  if (options_.place) options_.place();
  auto lastMove = Clock::now();
  unsigned idlePasses = 0;
  uint64_t helped = 0;
  while (takeChanges()) {
    bool moved = false, busy = false;
    {
      std::lock_guard turn(turn_);
      moved = makePass();
      for (const auto& client : clients_) busy = busy || client->busy();
    }
    if (moved) {
      idlePasses = 0;
      continue;
    }
    if (idlePasses++ == 0) lastMove = Clock::now();
    const uint64_t now = helped_.load(std::memory_order_relaxed);
    if (now != helped) {  // a kernel waits, and polls in this thread's place
      helped = now;
      std::this_thread::sleep_for(kHelpedNap);
    } else if (busy || Clock::now() - lastMove < kLinger) {
      pause(idlePasses);
    } else {
      sleep();
      idlePasses = 0;
    }
  }
}

void Proxy::pause(unsigned idlePasses) {
  if (idlePasses < options_.spins) {
    const auto start = std::chrono::steady_clock::now();
    sched_yield();
    if (std::chrono::steady_clock::now() - start < kLongYield) return;
  }
  std::this_thread::sleep_for(idlePasses < options_.spins + kShortNaps ? kNap : kLongNap);
}

void Proxy::sleep() {
  sleeping_.store(true);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return wakes_.load() != wakesSeen_; });
  wakesSeen_ = wakes_.load();
  lock.unlock();
  sleeping_.store(false);
}

}  // namespace rondo::fabric
