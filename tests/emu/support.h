// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What the emulated device's tests share: checked calls, a gate that holds a stream back, and child processes.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#define EXPECT_OK(call) EXPECT_EQ((call), cudaSuccess) << rondoEmuErrorDetail()
#define ASSERT_OK(call) ASSERT_EQ((call), cudaSuccess) << rondoEmuErrorDetail()

namespace rondo::emutest {

// A stream stands at holdBack() until open() is called. Opened at its end, so that a failed test does not hang.
class Gate {
 public:
  ~Gate() {
    open();
    // The stream's function has left wait() before the members go.
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0; });
  }
  void holdBack(cudaStream_t stream) {
    // Counted under the lock, so that the stream's function cannot leave before it is counted.
    std::lock_guard lock(mutex_);
    ASSERT_OK(cudaLaunchHostFunc(
        stream, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, this));
    ++inside_;
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    --inside_;
    left_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable left_;
  bool open_ = false;
  int inside_ = 0;
};

// The program child.cc as another process, with pipes to its standard input and output. Killed at its end if need be.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t process() const { return process_; }
  // False if the child closed its output first.
  bool read(void* data, size_t bytes);
  bool write(const void* data, size_t bytes);
  void kill(int signal);
  // The exit status, or 128 + the signal that ended it; -1 if it has not ended within the time.
  int wait(int timeout_ms);

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
  bool ended_ = false;
};

}  // namespace rondo::emutest
