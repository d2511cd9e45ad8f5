// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A fiber: one lane (or one whole worker wave) of the emulated device. Built on Boost.Context's raw context switch. A
// fiber runs on the OS thread that resumes it and is owned by the grid that runs there; nothing here is shared between
// threads.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace rondo::emu {

// Stacks of one OS thread, from pooled mappings without guard pages (40,000 guarded stacks exceed the kernel's limit of
// mappings). The lowest words of each stack hold a canary, checked when the stack is given back.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  char* take();  // the lowest address of a stack of kStackBytes
  void giveBack(char* stack);

  static const size_t kStackBytes;
  static StackPool& ofThisThread();

 private:
  std::vector<char*> free_;
  std::vector<char*> mappings_;
};

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the fiber ready to run entry(argument) at its first resume. entry ends with finish() and never returns.
  void prepare(void (*entry)(void*), void* argument);

  void resume();   // called by the scheduler; returns when the fiber suspends or finishes
  void suspend();  // called by the fiber
  [[noreturn]] void finish();

 private:
  static void start(boost::context::detail::transfer_t from);

  boost::context::detail::fcontext_t context_ = nullptr;    // where the fiber goes on
  boost::context::detail::fcontext_t scheduler_ = nullptr;  // where its scheduler goes on
  char* stack_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  // For the sanitizers, which want to be told about stack switches.
  void* fakeStack_ = nullptr;
  void* schedulerFakeStack_ = nullptr;
  const void* schedulerStack_ = nullptr;
  size_t schedulerStackBytes_ = 0;
  void* tsanFiber_ = nullptr;
  void* tsanScheduler_ = nullptr;
};

}  // namespace rondo::emu
