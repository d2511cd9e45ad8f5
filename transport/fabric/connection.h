// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Connections: the proxy's side of FIFOs that lie in host memory. A SendConnection consumes what kernels of this rank
// produce and hands it to the network; a ReceiveConnection produces for kernels what the network brings. Both keep the
// FIFO contract (device/primitives/fifo.h) as any producer or consumer does, and work from counters and slot headers
// alone: nothing is told to them per call.
//
// Flow control: a sender sends a step only below the limit that the receiver has told it by a credit, and the receiver
// tells the steps for which receives are posted, or memory is free. So each slot has at most one message under way, no
// message comes unexpected, a message can be known by its slot alone, and networks may deliver in any order.
//
// Landing: where payloads can land in users' buffers, a receive can only be posted when the kernel has said where (Landing
// in device/shared/fifo.h). So a receiver posts kLeadSteps steps ahead of the kernel, and more when it has been told.
//
// Made by the thread that runs init, then used by the proxy thread alone. progress() never blocks.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/shared/fifo.h"
#include "transport/fabric/endpoint.h"

namespace rondo::fabric {

// One channel's FIFO and where its slots lie in the memory that the network works on.
struct ChannelFifo {
  uint32_t channel;
  Fifo fifo;
  uint64_t offset;  // of the first slot
  Landing* landing;  // receivers: which steps shall land elsewhere; null: none
};

class Connection {
 public:
  // peer names the other rank in errors: "rank 3".
  Connection(std::unique_ptr<Endpoint> endpoint, std::vector<ChannelFifo> fifos, std::string peer);
  virtual ~Connection() = default;

  Endpoint& endpoint() { return *endpoint_; }

  // Moves what can move; true if anything did. Throws Error naming peer, provider text and step.
  bool progress();

  // Something is under way that only progress() ends. When false, nothing happens until a kernel moves a counter.
  virtual bool busy() const = 0;

  // Both sides have reached each other. Any thread.
  bool ready() const { return ready_.load(std::memory_order_acquire); }

 protected:
  struct Channel {
    ChannelFifo fifo;
    uint64_t posted;  // steps given to the network
    uint64_t done;    // steps completed, in order; what the own counter says
    uint64_t told;    // the limit that the receiver has told the sender
    uint64_t completedSlots = 0;  // bit i: slot i completed, not yet counted in done
    uint64_t landingSlots = 0;    // bit i: what comes for slot i lands elsewhere
  };

  virtual bool advance(Channel& channel) = 0;
  virtual void complete(const Completion& completion) = 0;

  Channel& channelOf(uint32_t channel);
  SlotRange slotOf(const Channel& channel, uint64_t step, uint64_t payloadBytes) const;
  SlotHeader& headerOf(const Channel& channel, uint64_t step) const;
  // Marks a slot and counts on; true if the count has changed.
  bool markCompleted(Channel& channel, uint32_t slot);
  std::string describeSteps() const;

  std::unique_ptr<Endpoint> endpoint_;
  std::vector<Channel> channels_;
  const std::string peer_;
  std::atomic<bool> ready_{false};

 private:
  size_t first_ = 0;  // the channel that comes first in the next pass, so that none starves
};

class SendConnection : public Connection {
 public:
  using Connection::Connection;
  bool busy() const override;

 private:
  bool advance(Channel& channel) override;
  void complete(const Completion& completion) override;
};

class ReceiveConnection : public Connection {
 public:
  using Connection::Connection;
  bool busy() const override;

 private:
  bool advance(Channel& channel) override;
  void complete(const Completion& completion) override;
  uint64_t receiveLimit(const Channel& channel) const;
  bool landingOf(const Channel& channel, SlotRange& slot) const;
  bool postReceives(Channel& channel);
  bool sendCredit(Channel& channel);

  bool greeted_ = false;    // by the peer
  bool introduced_ = false;  // to the peer, by a credit
};

}  // namespace rondo::fabric
