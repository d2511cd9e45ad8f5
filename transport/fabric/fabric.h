// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Transport 'fabric': FIFOs in pinned host memory that the proxy moves with libfabric. A rank has one for the directions
// that no peer transport serves. Owned by the communicator, used by the thread that makes it; noteLaunch by any thread
// that launches, under the communicator's mutex.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/runtime/runtime.h"
#include "device/shared/fifo.h"
#include "device/shared/report.h"
#include "src/base/error.h"
#include "transport/fabric/connection.h"
#include "transport/fabric/module.h"
#include "transport/fabric/proxy.h"

namespace rondo {

constexpr uint32_t kMaxFabricEndpoints = 4;

// Of the environment; see src/base/env.cc.
struct FabricSettings {
  uint32_t endpoints;  // per direction; channels are dealt out
  uint32_t operation;  // as fabric::OpenRequest
  uint64_t sendQueue;
  uint64_t receiveQueue;
  uint64_t completionQueue;
};
FabricSettings readFabricSettings(uint32_t channels);

// What a rank tells its neighbours.
struct FabricAddress {
  uint32_t endpoints;
  fabric::EndpointAddress receivers[kMaxFabricEndpoints];
  fabric::EndpointAddress senders[kMaxFabricEndpoints];
};

struct FabricRequest {
  FifoShape shape;
  std::string receiveProvider;  // empty: this direction is not the fabric's
  std::string sendProvider;
  std::string previous;  // the neighbours' names for errors: "rank 3"
  std::string next;
  std::string sourceAddress;  // numeric IP of the interface to use; empty: any
  bool hostBuffers;           // users' buffers are memory that the CPU can use
  ReportPage* report;         // of the communicator
  fabric::ProxyOptions proxy;
  std::function<void(ncclResult_t code, const std::string& text)> onError;  // on the proxy thread, at most once
};

class FabricTransport {
 public:
  // Opens endpoints and allocates FIFOs.
  explicit FabricTransport(const FabricRequest& request);
  ~FabricTransport();

  FabricAddress address() const;

  // Connects to the neighbours and starts the proxy; null: that direction is not the fabric's.
  void connect(const FabricAddress* previous, const FabricAddress* next);

  // The proxy sends payloads from where SlotHeader::source says. Valid after connect.
  bool readsSource() const { return readsSource_; }

  // Where kernels say which steps the proxy shall let land in users' buffers; null: it cannot. Valid after connect.
  Landing* landing(uint32_t channel) const;

  // Waits until every connection works. Throws Error when 'aborted' says so, or a connection has failed.
  void waitReady(const std::function<bool()>& aborted);

  Fifo receiveFifo(uint32_t channel) const;
  Fifo sendFifo(uint32_t channel) const;
  // Where kernels tell that they have ended on the channel (ChannelState::ended).
  Word* endedWord(uint32_t channel) const;

  // "to rank 2 (host:pid) by tcp;ofi_rxm (write), from rank 0 (host:pid) by shm (write)". Any thread, after connect.
  const std::string& describe() const { return description_; }

  // A kernel is about to be launched on channels 0 to count - 1.
  void noteLaunch(uint32_t count);

  // From here on failures of the network are no errors, and the proxy polls all the time: this rank waits for others to
  // say goodbye, and they may need its network's answers.
  void leave();

 private:
  class Client;
  struct Words;
  struct Direction {
    runtime::PinnedMemory slots;
    std::vector<std::unique_ptr<fabric::Endpoint>> endpoints;
  };

  void open(Direction& direction, fabric::Role role, const std::string& provider);
  Fifo fifo(const Direction& direction, uint32_t channel, Word& tail, Word& head) const;
  std::vector<fabric::ChannelFifo> fifosOf(const Direction& direction, fabric::Role role, uint32_t endpoint) const;
  Words& words(uint32_t channel) const;

  const FabricRequest request_;
  const FabricSettings settings_;
  runtime::PinnedMemory words_;
  Direction receive_;
  Direction send_;
  std::string description_;
  bool readsSource_ = false;
  bool lands_ = false;
  std::shared_ptr<fabric::Proxy> proxy_;
  std::shared_ptr<Client> client_;
};

}  // namespace rondo
