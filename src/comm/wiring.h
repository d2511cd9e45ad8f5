// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Wiring: which transport serves each of a rank's two ring links, and the FIFOs that come of it. Links inside a host are
// the peer transport's, unless NCCL_P2P_DISABLE=1; all others the fabric's. Owned by the communicator.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/shared/report.h"
#include "src/plan/settings.h"
#include "src/topology/topology.h"
#include "transport/bootstrap/bootstrap.h"
#include "transport/fabric/fabric.h"
#include "transport/peer/peer.h"

namespace rondo {

struct WiringRequest {
  int rank;
  int device;
  uint64_t busId;  // of the device
  bool isEmulated;
  const Topology& topology;
  const Ring& ring;
  const Settings& settings;
  ReportPage* report;
  std::function<std::string(int rank)> describeRank;  // "rank 3 (host:pid)"
  std::function<void(ncclResult_t, const std::string&)> onError;  // of the network, on the proxy thread
};

class Wiring {
 public:
  // Collective over the bootstrap. When it returns every link works.
  Wiring(const WiringRequest& request, Bootstrap& bootstrap, const AbortPredicate& aborted);

  Fifo receiveFifo(uint32_t channel) const;
  Fifo sendFifo(uint32_t channel) const;
  // ChannelState::readsSource
  bool readsSource() const { return !sendsByPeer_ && fabric_->readsSource(); }
  // ChannelState::landing
  Landing* landing(uint32_t channel) const { return receivesByPeer_ ? nullptr : fabric_->landing(channel); }
  Word* endedWord(uint32_t channel) const { return fabric_ ? fabric_->endedWord(channel) : nullptr; }

  // For errors: "; network from rank 0 (host:pid) by tcp;ofi_rxm (write)", or nothing where there is none.
  std::string describe() const { return fabric_ ? "; network " + fabric_->describe() : ""; }

  void noteLaunch(uint32_t channels) {
    if (fabric_) fabric_->noteLaunch(channels);
  }
  void leave() {
    if (fabric_) fabric_->leave();
  }

 private:
  bool receivesByPeer_;
  bool sendsByPeer_;
  std::unique_ptr<PeerTransport> peer_;
  std::unique_ptr<FabricTransport> fabric_;
};

}  // namespace rondo
