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
          sizeof(SlotHeader) + payloadBytes};
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
    if (!endpoint_->postSend(slotOf(channel, channel.posted, bytes))) break;
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

// Every free slot gets a receive. F2: the acquire pairs with the kernel's release of head, so its reads of the slot's old
// bytes come before the network's writes.
bool ReceiveConnection::postReceives(Channel& channel) {
  const Fifo& fifo = channel.fifo.fifo;
  const uint64_t free = hostLoadAcquire(*fifo.head) + fifo.depth;
  const uint64_t end = std::min(free, channel.done + endpoint_->window());
  const uint64_t before = channel.posted;
  while (channel.posted < end && endpoint_->postReceive(slotOf(channel, channel.posted, fifo.slotBytes))) ++channel.posted;
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
  // F6: the completion says that the bytes are in memory. Release: pairs with the kernel's acquire of tail (F4).
  if (markCompleted(channel, completion.slot)) hostStoreRelease(*channel.fifo.fifo.tail, channel.done);
}

bool ReceiveConnection::busy() const {
  if (endpoint_->pending() > 0) return true;
  for (const Channel& channel : channels_)
    if (channel.posted < hostLoadRelaxed(*channel.fifo.fifo.head) + std::min(channel.fifo.fifo.depth, endpoint_->window()))
      return true;
  return false;
}

}  // namespace rondo::fabric
