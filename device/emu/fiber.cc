// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device/emu/sanitizer.h"

namespace rondo::emu {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

namespace {
constexpr size_t kStacksPerMapping = 128;
constexpr uint64_t kCanary = 0x5afe57ac5afe57acULL;
}  // namespace

const size_t StackPool::kStackBytes = sanitizer::kLargeStacks ? 256 * 1024 : 32 * 1024;

StackPool::~StackPool() {
  for (char* mapping : mappings_) munmap(mapping, kStacksPerMapping * kStackBytes);
}

StackPool& StackPool::ofThisThread() {
  thread_local StackPool pool;
  return pool;
}

char* StackPool::take() {
  if (free_.empty()) {
    void* mapping = mmap(nullptr, kStacksPerMapping * kStackBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mappings_.push_back(static_cast<char*>(mapping));
    for (size_t i = 0; i < kStacksPerMapping; ++i) free_.push_back(mappings_.back() + i * kStackBytes);
  }
  char* stack = free_.back();
  free_.pop_back();
  std::memcpy(stack, &kCanary, sizeof(kCanary));
  return stack;
}

void StackPool::giveBack(char* stack) {
  if (std::memcmp(stack, &kCanary, sizeof(kCanary)) != 0) {
    std::fprintf(stderr, "rondo: emulated device: a lane's stack overflowed (%zu bytes)\n", kStackBytes);
    std::abort();
  }
  free_.push_back(stack);
}

Fiber::~Fiber() {
  if (stack_ != nullptr) StackPool::ofThisThread().giveBack(stack_);
#if defined(RONDO_TSAN)
  if (tsanFiber_ != nullptr) __tsan_destroy_fiber(tsanFiber_);
#endif
}

void Fiber::prepare(void (*entry)(void*), void* argument) {
  if (stack_ == nullptr) stack_ = StackPool::ofThisThread().take();
  entry_ = entry;
  argument_ = argument;
  context_ = make_fcontext(stack_ + StackPool::kStackBytes, StackPool::kStackBytes, &Fiber::start);
#if defined(RONDO_TSAN)
  if (tsanFiber_ == nullptr) tsanFiber_ = __tsan_create_fiber(0);
#endif
}

RONDO_NO_TSAN void Fiber::start(transfer_t from) {
  auto* self = static_cast<Fiber*>(from.data);
  sanitizer::afterSwitch(nullptr, &self->schedulerStack_, &self->schedulerStackBytes_);
  self->scheduler_ = from.fctx;
  self->entry_(self->argument_);
  std::abort();  // entry ends with finish()
}

RONDO_NO_TSAN void Fiber::resume() {
  sanitizer::beforeSwitch(&schedulerFakeStack_, stack_, StackPool::kStackBytes);
#if defined(RONDO_TSAN)
  tsanScheduler_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsanFiber_, 0);
#endif
  const transfer_t back = jump_fcontext(context_, this);
  context_ = back.fctx;
  sanitizer::afterSwitch(schedulerFakeStack_, nullptr, nullptr);
}

RONDO_NO_TSAN void Fiber::suspend() {
  sanitizer::beforeSwitch(&fakeStack_, schedulerStack_, schedulerStackBytes_);
#if defined(RONDO_TSAN)
  __tsan_switch_to_fiber(tsanScheduler_, 0);
#endif
  const transfer_t back = jump_fcontext(scheduler_, nullptr);
  scheduler_ = back.fctx;
  sanitizer::afterSwitch(fakeStack_, &schedulerStack_, &schedulerStackBytes_);
}

RONDO_NO_TSAN void Fiber::finish() {
  sanitizer::beforeSwitch(nullptr, schedulerStack_, schedulerStackBytes_);  // nullptr: this stack's frames are gone
#if defined(RONDO_TSAN)
  __tsan_switch_to_fiber(tsanScheduler_, 0);
#endif
  jump_fcontext(scheduler_, nullptr);
  std::abort();
}

}  // namespace rondo::emu
