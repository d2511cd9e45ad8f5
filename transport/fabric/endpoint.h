// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Endpoint: what a connection needs from a network. One endpoint serves one direction of FIFOs to one peer: a sender's
// moves slots to the peer and takes the peer's credits, a receiver's takes slots and sends credits. Nothing here blocks.
// Owned by a connection (connection.h); used by the thread that makes it, then by the proxy thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rondo::fabric {

enum class Role : uint32_t { kSender, kReceiver };

// What an endpoint tells its peer's.
struct EndpointAddress {
  char provider[32];
  uint32_t nameBytes;
  uint32_t writes;  // 1: slots come as remote writes with data, 0: as tagged messages
  unsigned char name[192];
  uint64_t memoryKey;   // receivers, for writes: of the FIFO memory
  uint64_t memoryBase;  // likewise: its address as the provider counts
};

// A slot's bytes that travel: header and payload. The offset from the start of the FIFO memory is the same on both sides.
// A payload may lie elsewhere, or be to land there: 'elsewhere', if not null, stands for the elsewhereBytes that follow the
// first headerBytes. A receiver's slot keeps the room behind it, for a peer that sends more than this call's.
struct SlotRange {
  uint32_t channel;
  uint32_t slot;
  uint64_t offset;
  uint64_t bytes;
  uint64_t headerBytes;
  char* elsewhere;
  uint64_t elsewhereBytes;
};

struct Completion {
  enum class Kind : uint32_t {
    kSent,     // a slot's memory is the sender's again
    kArrived,  // a slot's bytes are in the receiver's memory
    kCredit,   // to a sender: the peer takes the steps of the channel below 'limit'
    kHello     // to a receiver: the sender is there and reaches it
  } kind;
  uint32_t channel;
  uint32_t slot;
  uint64_t limit;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual EndpointAddress address() const = 0;
  // A sender greets its peer by itself: the first polls carry it.
  virtual void connect(const EndpointAddress& peer) = 0;

  // False: the network takes nothing more now; poll and come again. The memory is the network's until the completion.
  virtual bool postSend(const SlotRange& slot) = 0;     // sender
  virtual bool postReceive(const SlotRange& slot) = 0;  // receiver; slot.bytes is the room
  virtual bool postCredit(uint32_t channel, uint64_t limit) = 0;  // receiver

  // Moves the network along and fetches what has completed. Throws Error with the provider's text.
  virtual size_t poll(std::span<Completion> completions) = 0;

  // How many receives one channel may have posted: not so many that another channel finds the queue full.
  virtual uint64_t window() const = 0;

  // Payloads may lie elsewhere, in any memory of the process that the CPU can use, without registering it.
  virtual bool usesAnyMemory() const = 0;

  // Operations under way whose end only polling can bring: a proxy must not sleep meanwhile.
  virtual size_t pending() const = 0;

  // "tcp;ofi_rxm (write)": for logs and errors.
  virtual std::string describe() const = 0;
};

}  // namespace rondo::fabric
