// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/family.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace rondo::family {
namespace {

using Retired = std::vector<std::shared_ptr<Communicator>>;

struct State {
  std::mutex mutex;                 // protects the rest; never held while waiting or freeing
  std::map<uint64_t, int> living;   // ranks of this process per communicator
  std::map<uint64_t, Retired> parked;
  Retired aborted;
};

State& state() {
  static auto* only = new State;  // never destroyed: the program's own exit handlers may still destroy communicators
  return *only;
}

// Frees aborted communicators that nobody needs any more.
void sweep() {
  Retired free;
  {
    std::lock_guard lock(state().mutex);
    Retired& aborted = state().aborted;
    const auto needed = std::partition(aborted.begin(), aborted.end(), [](const auto& comm) { return !comm->allLeft(); });
    std::move(needed, aborted.end(), std::back_inserter(free));
    aborted.erase(needed, aborted.end());
  }
}

}  // namespace

void add(uint64_t id) {
  sweep();
  std::lock_guard lock(state().mutex);
  ++state().living[id];
}

void retire(std::shared_ptr<Communicator> communicator) {
  const uint64_t id = communicator->id();
  communicator->flush();
  communicator->leave();
  Retired free;
  {
    std::lock_guard lock(state().mutex);
    state().parked[id].push_back(std::move(communicator));
    if (--state().living[id] > 0) return;
    state().living.erase(id);
    free = std::move(state().parked[id]);
    state().parked.erase(id);
  }
  for (const auto& comm : free) comm->waitAllLeft();
  free.clear();
  sweep();
}

void retireAborted(std::shared_ptr<Communicator> communicator) {
  const uint64_t id = communicator->id();
  communicator->abort();
  communicator->leave();
  Retired free;
  {
    std::lock_guard lock(state().mutex);
    state().aborted.push_back(std::move(communicator));
    if (--state().living[id] == 0) {
      state().living.erase(id);
      Retired& parked = state().parked[id];
      std::move(parked.begin(), parked.end(), std::back_inserter(state().aborted));
      state().parked.erase(id);
    }
  }
  sweep();
}

}  // namespace rondo::family
