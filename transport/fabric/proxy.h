// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The proxy: one thread per process and device that drives the networks of all communicators there. It polls while
// anything is under way and sleeps otherwise, until a call wakes it. It makes no call of the GPU's runtime.
//
// A proxy lives as long as somebody holds it. In a forked child there is no such thread: what the child does with an
// inherited proxy has no effect.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::fabric {

// What a communicator gives to the proxy. Called on the proxy thread only, between add and the end of remove.
class ProxyClient {
 public:
  virtual ~ProxyClient() = default;
  virtual bool progress() = 0;    // never blocks, never throws; true if anything moved
  virtual bool busy() const = 0;  // progress() may find something to do without a wake before it
};

struct ProxyOptions {
  int device = -1;             // for log lines
  unsigned spins = 0;          // polls without result before the thread sleeps between polls
  std::function<void()> place{};  // run at the start of the thread: binds it to cores; may be empty
};

class Proxy {
 public:
  // The process's proxy of the device, started if there is none. Throws Error when no thread can be started.
  static std::shared_ptr<Proxy> ofDevice(const ProxyOptions& options);

  explicit Proxy(const ProxyOptions& options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Any thread.
  void add(std::shared_ptr<ProxyClient> client);
  void remove(const ProxyClient* client);  // the client is not called any more when it returns
  void wake();                             // a client may have become busy

 private:
  void run();
  bool takeChanges();
  void pause(unsigned idlePasses);
  void sleep();

  const ProxyOptions options_;
  const pid_t pid_;

  std::mutex mutex_;  // protects what follows; not held while clients are called
  std::condition_variable changed_;
  std::vector<std::shared_ptr<ProxyClient>> wanted_;
  uint64_t changes_ = 0;  // of wanted_
  uint64_t taken_ = 0;    // changes that the thread has seen
  bool ending_ = false;

  std::atomic<bool> sleeping_{false};
  std::atomic<uint64_t> wakes_{0};

  // Proxy thread only.
  std::vector<std::shared_ptr<ProxyClient>> clients_;
  uint64_t wakesSeen_ = 0;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace rondo::fabric
