// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/idle_help.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "device/emu/api_call.h"

namespace rondo::emu {
namespace {

struct Helper {
  int (*help)(void*);
  void* argument;
};

constexpr size_t kMostHelpers = 256;

struct Helpers {
  std::shared_mutex mutex;  // protects all; shared while helpers are called
  std::vector<Helper> all;
  std::atomic<size_t> count{0};  // of all, for those that look without the lock
};

Helpers& helpers() {
  static auto* only = new Helpers;  // never destroyed: kernels may outlive main
  return *only;
}

}  // namespace

bool helpOthers() {
  Helpers& known = helpers();
  if (known.count.load(std::memory_order_relaxed) == 0) return false;
  std::shared_lock lock(known.mutex, std::try_to_lock);
  if (!lock) return false;
  bool moved = false;
  for (const Helper& helper : known.all) {
    if (helper.help(helper.argument) != 0) moved = true;
  }
  return moved;
}

}  // namespace rondo::emu

using rondo::emu::helpers;

cudaError_t rondoEmuStartHelp(int (*help)(void*), void* argument) {
  if (help == nullptr) return cudaErrorInvalidValue;
  std::unique_lock lock(helpers().mutex);
  if (helpers().all.size() == rondo::emu::kMostHelpers) return cudaErrorInvalidValue;
  helpers().all.push_back({help, argument});
  helpers().count = helpers().all.size();
  return cudaSuccess;
}

cudaError_t rondoEmuStopHelp(void* argument) {
  std::unique_lock lock(helpers().mutex);
  std::erase_if(helpers().all, [&](const auto& helper) { return helper.argument == argument; });
  helpers().count = helpers().all.size();
  return cudaSuccess;
}
