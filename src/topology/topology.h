// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Where the ranks of a communicator sit, and the ring made of them. Pure: made from what the ranks told each other at
// init, the same on every rank.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

// Of one rank. host identifies the machine (NCCL_HOSTID sets another one); bus the device on it. package and numaNode
// say where on the host that device is (src/topology/placement.h).
struct Location {
  uint64_t host;
  uint64_t bus;
  uint32_t package;
  uint32_t numaNode;
};

// The identity of this host: a hash of NCCL_HOSTID if set, else of the boot id and the host name.
uint64_t hostIdentity();

class Topology {
 public:
  explicit Topology(std::vector<Location> locations) : locations_(std::move(locations)) {}

  uint32_t ranks() const { return static_cast<uint32_t>(locations_.size()); }
  // The ring visits hosts in the order of their lowest rank, and on a host package by package, in each NUMA node by
  // NUMA node, in each device by device (by bus), and the ranks of a device in rank order.
  std::vector<uint32_t> ringOrder() const;
  // How many ranks sit on the same device as 'rank', itself included.
  uint32_t ranksOnDeviceOf(uint32_t rank) const;
  bool sameHost(uint32_t a, uint32_t b) const { return locations_[a].host == locations_[b].host; }

 private:
  std::vector<Location> locations_;
};

// A rank's place in the ring.
struct Ring {
  std::vector<uint32_t> order;  // rank at each index
  uint32_t index;               // this rank's

  uint32_t size() const { return static_cast<uint32_t>(order.size()); }
  uint32_t previous() const { return order[(index + size() - 1) % size()]; }
  uint32_t next() const { return order[(index + 1) % size()]; }
  uint32_t indexOf(uint32_t rank) const;
  // This rank's place when the ring is counted from 'root'.
  uint32_t indexFrom(uint32_t root) const { return (index + size() - indexOf(root)) % size(); }
};

Ring makeRing(const Topology& topology, uint32_t rank);

}  // namespace rondo
