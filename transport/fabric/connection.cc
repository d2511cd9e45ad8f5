// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/connection.h"

#include <algorithm>

#include "src/base/error.h"

namespace rondo::fabric {

Connection::Connection(std::unique_ptr<Endpoint> endpoint, std::vector<ChannelFifo> fifos, std::string peer)
    : endpoint_(std::move(endpoint)), peer_(std::move(peer)) {
  for (const ChannelFifo& fifo : fifos) {
    const uint64_t start = hostLoadRelaxed(*fifo.fifo.tail);
    channels_.push_back({fifo, start, start, start});
  }
}

bool Connection::progress() {
  try {
    Completion completions[16];
    const size_t count = endpoint_->poll(completions);
    for (size_t i = 0; i < count; ++i) complete(completions[i]);
    bool moved = count > 0;
    for (size_t i = 0; i < channels_.size(); ++i) {
      if (advance(channels_[(first_ + i) % channels_.size()])) moved = true;
    }
    if (moved) first_ = (first_ + 1) % channels_.size();
    return moved;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("network to {}: {}; {}", peer_, error.text(), describeSteps()));
  }
}

Connection::Channel& Connection::channelOf(uint32_t channel) {
  for (Channel& own : channels_)
    if (own.fifo.channel == channel) return own;
  fail(ncclInternalError, "a message for channel {}, which this connection does not have", channel);
}

SlotHeader& Connection::headerOf(const Channel& channel, uint64_t step) const {
  const Fifo& fifo = channel.fifo.fifo;
  char* slot = fifo.slots + (step & (fifo.depth - 1)) * slotStride(fifo.slotBytes);
  return reinterpret_cast<SlotHeader*>(slot + kSlotHeaderRoom)[-1];
}

SlotRange Connection::slotOf(const Channel& channel, uint64_t step, uint64_t payloadBytes) const {
  const Fifo& fifo = channel.fifo.fifo;
  const uint64_t slot = step & (fifo.depth - 1);
  return {channel.fifo.channel, static_cast<uint32_t>(slot),
          channel.fifo.offset + slot * slotStride(fifo.slotBytes) + kSlotHeaderRoom - sizeof(SlotHeader),
          sizeof(SlotHeader) + payloadBytes, sizeof(SlotHeader), nullptr, 0};
}

bool Connection::markCompleted(Channel& channel, uint32_t slot) {
  const uint64_t mask = channel.fifo.fifo.depth - 1;
  if (slot > mask || (channel.completedSlots >> slot & 1) != 0)
    fail(ncclInternalError, "slot {} of channel {} completed twice or does not exist", slot, channel.fifo.channel);
  channel.completedSlots |= uint64_t{1} << slot;
  const uint64_t before = channel.done;
  while ((channel.completedSlots >> (channel.done & mask) & 1) != 0) {
    channel.completedSlots &= ~(uint64_t{1} << (channel.done & mask));
    ++channel.done;
  }
  return channel.done != before;
}

std::string Connection::describeSteps() const {
  std::string text;
  for (const Channel& channel : channels_)
    text += fmt::format("{}channel {} at step {}", text.empty() ? "" : ", ", channel.fifo.channel, channel.done);
  return text;
}

// What the kernel has published and the peer has room for goes out. F4: the acquire pairs with the kernel's release of
// tail, so the slot's bytes are there; a slot is not given back before the network has done with it (complete).
bool SendConnection::advance(Channel& channel) {
  const Fifo& fifo = channel.fifo.fifo;
  const uint64_t published = hostLoadAcquire(*fifo.tail);
  const uint64_t before = channel.posted;
  while (channel.posted < published && channel.posted < channel.told) {
    const uint64_t bytes = hostLoadRelaxed(headerOf(channel, channel.posted).bytes);
    if (bytes > fifo.slotBytes)
      fail(ncclInternalError, "step {} of channel {} claims {} bytes, a slot has {}", channel.posted,
           channel.fifo.channel, bytes, fifo.slotBytes);
    const auto source = hostLoadRelaxed(headerOf(channel, channel.posted).source);
    SlotRange slot = slotOf(channel, channel.posted, bytes);
    slot.elsewhere = reinterpret_cast<char*>(source);
    slot.elsewhereBytes = bytes;
    if (!endpoint_->postSend(slot)) break;
    ++channel.posted;
  }
  return channel.posted != before;
}

void SendConnection::complete(const Completion& completion) {
  Channel& channel = channelOf(completion.channel);
  if (completion.kind == Completion::Kind::kCredit) {
    ready_.store(true, std::memory_order_release);
    if (completion.limit > channel.told) channel.told = completion.limit;  // credits may overtake one another
    return;
  }
  if (completion.kind != Completion::Kind::kSent) fail(ncclInternalError, "a sender has received a step");
  // Release: pairs with the kernel's acquire of head (F2).
  if (markCompleted(channel, completion.slot)) hostStoreRelease(*channel.fifo.fifo.head, channel.done);
}

bool SendConnection::busy() const {
  if (endpoint_->pending() > 0) return true;
  for (const Channel& channel : channels_)
    if (channel.done != hostLoadRelaxed(*channel.fifo.fifo.tail)) return true;
  return false;
}

bool ReceiveConnection::advance(Channel& channel) {
  const bool posted = postReceives(channel);
  return sendCredit(channel) || posted;
}

// The step below which receives may be posted: the slot is free, the network's queue has room, and the kernel knows of
// the step, or it is one of the first. F2: the acquire of head pairs with the kernel's release, so its reads of the slot's
// old bytes come before the network's writes.
uint64_t ReceiveConnection::receiveLimit(const Channel& channel) const {
  const Fifo& fifo = channel.fifo.fifo;
  const uint64_t head = hostLoadAcquire(*fifo.head);
  const uint64_t limit = std::min(head + fifo.depth, channel.done + endpoint_->window());
  const Landing* landing = channel.fifo.landing;
  if (landing == nullptr) return limit;
  const uint64_t told = std::max(hostLoadAcquire(landing->end), hostLoadRelaxed(landing->open));
  return std::min(limit, std::max(head + kLeadSteps, told));
}

// Where the step of a slot shall land; false: in the slot. Acquire: pairs with RingChannel::expect.
bool ReceiveConnection::landingOf(const Channel& channel, SlotRange& slot) const {
  const Landing* landing = channel.fifo.landing;
  if (landing == nullptr || channel.posted >= hostLoadAcquire(landing->end)) return false;
  const uint64_t first = hostLoadRelaxed(landing->first);
  if (channel.posted < first) return false;
  const uint64_t stepBytes = hostLoadRelaxed(landing->stepBytes);
  const uint64_t offset = (channel.posted - first) * stepBytes;
  slot.elsewhere = reinterpret_cast<char*>(hostLoadRelaxed(landing->address)) + offset;
  slot.elsewhereBytes = std::min(stepBytes, hostLoadRelaxed(landing->bytes) - offset);
  return true;
}

bool ReceiveConnection::postReceives(Channel& channel) {
  const uint64_t end = receiveLimit(channel);
  const uint64_t before = channel.posted;
  for (; channel.posted < end; ++channel.posted) {
    SlotRange slot = slotOf(channel, channel.posted, channel.fifo.fifo.slotBytes);
    const bool lands = landingOf(channel, slot);
    if (!endpoint_->postReceive(slot)) break;
    const uint64_t bit = uint64_t{1} << slot.slot;
    channel.landingSlots = lands ? channel.landingSlots | bit : channel.landingSlots & ~bit;
  }
  return channel.posted != before;
}

// Not for every step: a quarter of the window at a time, and before the peer runs dry. The very first credit tells the
// peer that this rank is there.
bool ReceiveConnection::sendCredit(Channel& channel) {
  const uint64_t news = channel.posted - channel.told;
  const uint64_t left = channel.told - channel.done;  // what the peer may still send
  const uint64_t quarter = endpoint_->window() / 4;
  if (news == 0 || (news < quarter && left > quarter)) return false;
  if (!endpoint_->postCredit(channel.fifo.channel, channel.posted)) return false;
  channel.told = channel.posted;
  introduced_ = true;
  if (greeted_) ready_.store(true, std::memory_order_release);
  return true;
}

void ReceiveConnection::complete(const Completion& completion) {
  if (completion.kind == Completion::Kind::kHello) {
    greeted_ = true;
    if (introduced_) ready_.store(true, std::memory_order_release);
    return;
  }
  if (completion.kind != Completion::Kind::kArrived) fail(ncclInternalError, "a receiver has sent a step");
  Channel& channel = channelOf(completion.channel);
  const bool landed = (channel.landingSlots >> (completion.slot & (kMaxDepth - 1)) & 1) != 0;
  hostStoreRelaxed(headerOf(channel, completion.slot).landed, landed ? 1 : 0);
  // F6: the completion says that the bytes are in memory. Release: pairs with the kernel's acquire of tail (F4).
  if (markCompleted(channel, completion.slot)) hostStoreRelease(*channel.fifo.fifo.tail, channel.done);
}

bool ReceiveConnection::busy() const {
  if (endpoint_->pending() > 0) return true;
  for (const Channel& channel : channels_)
    if (channel.posted < receiveLimit(channel))
      return true;
  return false;
}

}  // namespace rondo::fabric
