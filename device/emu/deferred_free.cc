// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/deferred_free.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "device/emu/device.h"

namespace rondo::emu {
namespace {

struct Entry {
  std::vector<StreamPoint> points;
  std::function<void()> release;
};

struct Waiting {
  std::mutex mutex;  // protects entries; a leaf lock
  std::vector<Entry> entries;
};

Waiting& waiting() {
  static auto* list = new Waiting;  // never destroyed: streams may be busy at exit
  return *list;
}

bool finished(const Entry& entry) {
  return std::all_of(entry.points.begin(), entry.points.end(), [](const StreamPoint& point) { return point.done(); });
}

}  // namespace

void releaseWhenIdle(std::function<void()> release) {
  std::vector<StreamPoint> points;
  for (Device* used : devicesInUse()) {
    std::vector<StreamPoint> pending = used->pendingOfAll();
    std::move(pending.begin(), pending.end(), std::back_inserter(points));
  }
  if (points.empty()) {
    release();
    return;
  }
  Waiting& list = waiting();
  std::lock_guard lock(list.mutex);
  list.entries.push_back({std::move(points), std::move(release)});
}

bool releaseFinished() {
  Waiting& list = waiting();
  std::vector<Entry> ready;
  bool none = false;
  {
    std::lock_guard lock(list.mutex);
    const auto firstReady =
        std::partition(list.entries.begin(), list.entries.end(), [](const Entry& entry) { return !finished(entry); });
    std::move(firstReady, list.entries.end(), std::back_inserter(ready));
    list.entries.erase(firstReady, list.entries.end());
    none = list.entries.empty();
  }
  for (const Entry& entry : ready) entry.release();
  return none;
}

}  // namespace rondo::emu
