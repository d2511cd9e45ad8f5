// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/peer/peer.h"

#include <vector>

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/log.h"

namespace rondo {

// The part of a segment that is not slots. Words that different sides write lie on different cache lines.
struct PeerTransport::ChannelSegment {
  alignas(kSlotAlignment) Word tail;  // of the receive FIFO; the previous rank writes
  alignas(kSlotAlignment) Word head;  // of the send FIFO; the next rank writes
};

namespace {

uint64_t thisProcess() {
  static const uint64_t id = randomBits();
  return id;
}

}  // namespace

PeerTransport::PeerTransport(const FifoShape& shape, int rank, bool receives)
    : shape_(shape),
      segment_(shape.channels * (sizeof(ChannelSegment) + (receives ? shape.slotsBytes() : 0)),
               runtime::MemoryUse::kShared) {
  if (shape_.firstStep != 0) {
    std::vector<ChannelSegment> start(shape_.channels);
    for (ChannelSegment& channel : start) channel.tail.value = channel.head.value = shape_.firstStep;
    runtime::copyToDevice(segment_.data(), start.data(), start.size() * sizeof(ChannelSegment));
  }
  address_.process = thisProcess();
  address_.segment = reinterpret_cast<uint64_t>(segment_.data());
  address_.device = runtime::currentDevice();
  address_.rank = rank;
  address_.handle = runtime::exportMemory(segment_);
}

PeerTransport::ChannelSegment& PeerTransport::channelOf(char* segment, uint32_t channel) const {
  return reinterpret_cast<ChannelSegment*>(segment)[channel];
}

char* PeerTransport::slotsOf(char* segment, uint32_t channel) const {
  return segment + shape_.channels * sizeof(ChannelSegment) + channel * shape_.slotsBytes();
}

char* PeerTransport::map(const PeerAddress& peer, runtime::ImportedMemory& mapping) const {
  if (peer.process == address_.process) {
    runtime::enablePeerAccess(peer.device);
    log::info(log::kP2p, "rank {} -> rank {} via P2P/direct pointer", address_.rank, peer.rank);
    return reinterpret_cast<char*>(peer.segment);
  }
  try {
    mapping = runtime::ImportedMemory(peer.handle);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("mapping the memory of rank {}: {}", peer.rank, error.text()), peer.rank);
  }
  log::info(log::kP2p, "rank {} -> rank {} via P2P/IPC", address_.rank, peer.rank);
  return mapping.data();
}

void PeerTransport::connect(const PeerAddress* previous, const PeerAddress* next) {
  if (previous != nullptr) previous_ = map(*previous, previousMapping_);
  if (next == nullptr) return;
  next_ = previous != nullptr && next->rank == previous->rank ? previous_ : map(*next, nextMapping_);
}

Fifo PeerTransport::receiveFifo(uint32_t channel) const {
  ChannelSegment& own = channelOf(segment_.data(), channel);
  return {&own.tail, &channelOf(previous_, channel).head, slotsOf(segment_.data(), channel), shape_.slotBytes,
          shape_.depth};
}

Fifo PeerTransport::sendFifo(uint32_t channel) const {
  ChannelSegment& theirs = channelOf(next_, channel);
  return {&theirs.tail, &channelOf(segment_.data(), channel).head, slotsOf(next_, channel), shape_.slotBytes,
          shape_.depth};
}

}  // namespace rondo
