// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/topology/topology.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "src/base/env.h"
#include "src/base/hash.h"
#include "src/base/host.h"

namespace rondo {

uint64_t hostIdentity() {
  if (const auto given = env::text("NCCL_HOSTID")) return hashText(*given);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return hashText(boot + "/" + hostName());
}

std::vector<uint32_t> Topology::ringOrder() const {
  std::unordered_map<uint64_t, uint32_t> lowestRank;  // of each host
  for (uint32_t rank = 0; rank < ranks(); ++rank) lowestRank.try_emplace(locations_[rank].host, rank);
  const auto key = [&](uint32_t rank) {
    const Location& at = locations_[rank];
    return std::tuple(lowestRank.at(at.host), at.package, at.numaNode, at.bus, rank);
  };
  std::vector<uint32_t> order(ranks());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

uint32_t Topology::ranksOnDeviceOf(uint32_t rank) const {
  return static_cast<uint32_t>(std::count_if(locations_.begin(), locations_.end(), [&](const Location& other) {
    return other.host == locations_[rank].host && other.bus == locations_[rank].bus;
  }));
}

uint32_t Ring::indexOf(uint32_t rank) const {
  return static_cast<uint32_t>(std::find(order.begin(), order.end(), rank) - order.begin());
}

Ring makeRing(const Topology& topology, uint32_t rank) {
  Ring ring{topology.ringOrder(), 0};
  ring.index = ring.indexOf(rank);
  return ring;
}

}  // namespace rondo
