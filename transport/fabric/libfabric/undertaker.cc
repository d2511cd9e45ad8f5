// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/libfabric/undertaker.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace rondo::fabric {
namespace {

struct Known {
  FabricEndpoint* endpoint;
  bool givenUp;
};

std::mutex mutex;  // protects all
auto* all = new std::vector<Known>;  // never destroyed: communicators may outlive main

// Somebody who is in use is connected to it.
bool isNeeded(const Known& known) {
  const std::string name = known.endpoint->shmName();
  return !name.empty() && std::any_of(all->begin(), all->end(), [&](const Known& other) {
    return !other.givenUp && other.endpoint->shmPeer() == name;
  });
}

}  // namespace

void noteOpened(FabricEndpoint* endpoint) {
  std::lock_guard lock(mutex);
  all->push_back({endpoint, false});
}

void connectNoted(FabricEndpoint& endpoint, const EndpointAddress& peer) {
  std::lock_guard lock(mutex);
  endpoint.connect(peer);
}

void giveUp(FabricEndpoint* endpoint) {
  std::lock_guard lock(mutex);
  for (Known& known : *all) known.givenUp = known.givenUp || known.endpoint == endpoint;
  const auto rest = std::partition(all->begin(), all->end(), [](const Known& known) { return !known.givenUp || isNeeded(known); });
  const std::vector<Known> free(rest, all->end());
  all->erase(rest, all->end());
  for (const Known& known : free) known.endpoint->forgetPeer();
  for (const Known& known : free) delete known.endpoint;
}

}  // namespace rondo::fabric
