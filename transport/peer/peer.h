// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Transport 'peer': FIFOs in device memory that the neighbours map. Each rank owns one segment (its receive FIFOs' slots
// and tails, its send FIFOs' heads) and maps the segments of the previous and the next rank: by address within a
// process, by a memory handle between processes of one host. Either direction may be another transport's. Owned by the
// communicator, used by the thread that makes it.
#pragma once

#include <cstdint>

#include "device/runtime/runtime.h"
#include "device/shared/fifo.h"

namespace rondo {

// What a rank tells its neighbours about its segment.
struct PeerAddress {
  uint64_t process;  // random, one per process: equal means that 'segment' is valid here
  uint64_t segment;
  int32_t device;
  int32_t rank;
  runtime::MemoryHandle handle;
};

class PeerTransport {
 public:
  // Allocates this rank's segment on the current device; with slots if it receives from a peer.
  PeerTransport(const FifoShape& shape, int rank, bool receives);

  const PeerAddress& address() const { return address_; }

  // Maps the neighbours' segments; null: that direction is not this transport's. Throws Error naming the peer.
  void connect(const PeerAddress* previous, const PeerAddress* next);

  // Valid after connect, for the directions that were given.
  Fifo receiveFifo(uint32_t channel) const;
  Fifo sendFifo(uint32_t channel) const;

 private:
  struct ChannelSegment;

  ChannelSegment& channelOf(char* segment, uint32_t channel) const;
  char* slotsOf(char* segment, uint32_t channel) const;
  char* map(const PeerAddress& peer, runtime::ImportedMemory& mapping) const;

  FifoShape shape_;
  runtime::DeviceMemory segment_;
  PeerAddress address_;
  runtime::ImportedMemory previousMapping_;
  runtime::ImportedMemory nextMapping_;
  char* previous_ = nullptr;
  char* next_ = nullptr;
};

}  // namespace rondo
