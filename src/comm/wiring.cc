// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/wiring.h"

#include <vector>

#include "src/base/env.h"
#include "src/base/interfaces.h"
#include "src/comm/exchange.h"
#include "src/topology/placement.h"
#include "transport/fabric/module_loader.h"

namespace rondo {
namespace {

// Polls of the proxy before it naps. On the emulated device the cores are what ranks compute with.
constexpr unsigned kEmulatedSpins = 30;
constexpr unsigned kSpins = 2000;

struct Addresses {
  PeerAddress peer;
  FabricAddress fabric;
};

struct Nothing {};

bool byPeer(const WiringRequest& request, uint32_t from, uint32_t to) {
  return request.settings.usesPeer && request.topology.sameHost(from, to);
}

bool anyByFabric(const WiringRequest& request) {
  const auto& order = request.ring.order;
  for (size_t i = 0; i < order.size(); ++i)
    if (!byPeer(request, order[i], order[(i + 1) % order.size()])) return true;
  return false;
}

// The provider of a link: the local one inside a host where both have it, else the network's, which must be the same.
std::string linkProvider(const WiringRequest& request, const std::vector<fabric::Providers>& all, uint32_t from, uint32_t to) {
  const fabric::Providers& a = all[from];
  const fabric::Providers& b = all[to];
  const bool inside = request.topology.sameHost(from, to);
  if (inside && a.local[0] != '\0' && std::string(a.local) == b.local) return a.local;
  for (const uint32_t rank : {from, to}) {
    if (all[rank].network[0] != '\0') continue;
    fail(ncclInvalidUsage, "no network provider for the link from {} to {}: libfabric offers {} on rank {}{}{}",
         request.describeRank(static_cast<int>(from)), request.describeRank(static_cast<int>(to)), all[rank].seen, rank,
         inside ? "" : " (shm connects ranks of one host only)",
         inside && !request.settings.usesShm ? " (NCCL_SHM_DISABLE=1 excludes shm)" : "");
  }
  if (std::string(a.network) != b.network) {
    fail(ncclInvalidUsage, "network providers differ: {} on {}, {} on {}; FI_PROVIDER chooses one", a.network,
         request.describeRank(static_cast<int>(from)), b.network, request.describeRank(static_cast<int>(to)));
  }
  return a.network;
}

}  // namespace

Wiring::Wiring(const WiringRequest& request, Bootstrap& bootstrap, const AbortPredicate& aborted) {
  const auto own = static_cast<uint32_t>(request.rank);
  const uint32_t previous = request.ring.previous();
  const uint32_t next = request.ring.next();
  receivesByPeer_ = byPeer(request, previous, own);
  sendsByPeer_ = byPeer(request, own, next);
  const bool needsFabric = !receivesByPeer_ || !sendsByPeer_;

  std::vector<fabric::Providers> providers;
  if (anyByFabric(request)) {
    providers = exchange<fabric::Providers>(bootstrap, [&] {
      return needsFabric ? fabric::probeProviders(request.settings.usesShm) : fabric::Providers{};
    });
  }
  const FifoShape shape{request.settings.maxChannels, request.settings.depth, request.settings.slotBytes,
                        request.settings.firstStep};
  const auto addresses = exchange<Addresses>(bootstrap, [&] {
    Addresses all{};
    if (receivesByPeer_ || sendsByPeer_) {
      peer_ = std::make_unique<PeerTransport>(shape, request.rank, receivesByPeer_);
      all.peer = peer_->address();
    }
    if (needsFabric) {
      FabricRequest fabric{};
      fabric.shape = shape;
      if (!receivesByPeer_) fabric.receiveProvider = linkProvider(request, providers, previous, own);
      if (!sendsByPeer_) fabric.sendProvider = linkProvider(request, providers, own, next);
      fabric.previous = request.describeRank(static_cast<int>(previous));
      fabric.next = request.describeRank(static_cast<int>(next));
      fabric.sourceAddress = preferredAddress();
      fabric.hostBuffers = request.isEmulated;
      fabric.report = request.report;
      fabric.proxy.device = request.device;
      fabric.proxy.spins = request.isEmulated ? kEmulatedSpins : kSpins;
      const auto binding = env::flag("NCCL_IGNORE_CPU_AFFINITY", false) ? ProcessBinding::kIgnore : ProcessBinding::kRespect;
      fabric.proxy.place = [place = placeDevice(request.busId, request.isEmulated), binding] { bindThreadNear(place, binding); };
      fabric.onError = request.onError;
      fabric_ = std::make_unique<FabricTransport>(fabric);
      all.fabric = fabric_->address();
    }
    return all;
  });
  exchange<Nothing>(bootstrap, [&] {
    const Addresses& before = addresses[previous];
    const Addresses& after = addresses[next];
    if (peer_) peer_->connect(receivesByPeer_ ? &before.peer : nullptr, sendsByPeer_ ? &after.peer : nullptr);
    if (fabric_) fabric_->connect(receivesByPeer_ ? nullptr : &before.fabric, sendsByPeer_ ? nullptr : &after.fabric);
    return Nothing{};
  });
  if (anyByFabric(request)) {
    exchange<Nothing>(bootstrap, [&] {
      if (fabric_) fabric_->waitReady(aborted);
      return Nothing{};
    });
  }
}

Fifo Wiring::receiveFifo(uint32_t channel) const {
  return receivesByPeer_ ? peer_->receiveFifo(channel) : fabric_->receiveFifo(channel);
}

Fifo Wiring::sendFifo(uint32_t channel) const {
  return sendsByPeer_ ? peer_->sendFifo(channel) : fabric_->sendFifo(channel);
}

}  // namespace rondo
