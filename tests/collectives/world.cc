// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/collectives/world.h"

#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace rondo::testing_world {
namespace {

constexpr char kCanary = 0x5a;

}  // namespace

void require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw std::runtime_error(std::string(what) + ": code " + std::to_string(static_cast<int>(result)) + ", " +
                           ncclGetLastError(nullptr));
}

void runRanks(int ranks, const std::function<void(Rank&)>& body) {
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  const int devices = runtime::deviceCount();
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      Rank rank{r, ranks, nullptr, nullptr};
      try {
        const runtime::DeviceGuard guard(r % devices);
        const runtime::OwnedStream stream;
        rank.stream = stream.get();
        require(ncclCommInitRank(&rank.comm, ranks, id, r), "ncclCommInitRank");
        body(rank);
        require(ncclCommDestroy(rank.comm), "ncclCommDestroy");
      } catch (...) {
        if (rank.comm != nullptr) ncclCommAbort(rank.comm);
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

GuardedBuffer::GuardedBuffer(size_t bytes, size_t offset)
    : bytes_(bytes), offset_(offset), memory_(bytes + offset + 2 * kGuard, runtime::MemoryUse::kPrivate) {
  const std::vector<char> canaries(memory_.bytes(), kCanary);
  runtime::copyToDevice(memory_.data(), canaries.data(), canaries.size());
}

void GuardedBuffer::write(const std::vector<char>& content) {
  if (!content.empty()) runtime::copyToDevice(data(), content.data(), content.size());
}

std::vector<char> GuardedBuffer::read() const {
  std::vector<char> content(bytes_);
  if (bytes_ > 0) runtime::copyFromDevice(content.data(), data(), bytes_);
  return content;
}

std::string GuardedBuffer::checkCanaries() const {
  std::vector<char> all(memory_.bytes());
  runtime::copyFromDevice(all.data(), memory_.data(), all.size());
  const size_t begin = kGuard + offset_;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= begin && i < begin + bytes_) continue;
    if (all[i] != kCanary)
      return "byte " + std::to_string(static_cast<long>(i) - static_cast<long>(begin)) + " of a buffer of " + std::to_string(bytes_) + " bytes was overwritten";
  }
  return {};
}

ScopedEnv::ScopedEnv(const char* name, const std::string& value) : name_(name) {
  const char* old = std::getenv(name);
  wasSet_ = old != nullptr;
  if (wasSet_) old_ = old;
  setenv(name, value.c_str(), 1);
}

ScopedEnv::~ScopedEnv() {
  if (wasSet_) {
    setenv(name_.c_str(), old_.c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

}  // namespace rondo::testing_world
