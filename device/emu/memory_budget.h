// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How much memory the machine can still give. Device memory is sparse, so an allocation costs nothing until it is
// touched, and a touch that the machine cannot serve would kill the process; so an allocation is refused when the
// machine could not back it. One object per process; any thread. Other processes' reservations are seen only once
// touched.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace rondo::emu {

class MemoryBudget {
 public:
  static MemoryBudget& instance();

  // Counts 'bytes' as promised; false if the machine could not back them. touchedBytes() says how much of what was
  // promised is in use already; it is asked only when enough was promised since the last look.
  bool reserve(size_t bytes, const std::function<size_t()>& touchedBytes);
  void release(size_t bytes);

  // What a caller could still reserve.
  size_t available(const std::function<size_t()>& touchedBytes);

 private:
  size_t availableLocked(const std::function<size_t()>& touchedBytes) const;

  std::mutex mutex_;  // protects the rest; taken before an arena's lock (touchedBytes)
  size_t reserved_ = 0;
  size_t sinceLook_ = 0;
};

// Of the machine, or of the process's control group where that is less.
size_t availableMemoryBytes();
size_t totalMemoryBytes();

}  // namespace rondo::emu
