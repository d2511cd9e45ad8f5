// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A network in memory between one sending and one receiving endpoint: it delivers in any order, says "later" at random,
// has queues of a chosen length, and fails on demand. It checks what the connections promise: no message without a posted
// receive, one message per slot. One thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "transport/fabric/endpoint.h"

namespace rondo::fabric {

struct FakeNetwork {
  struct Message {
    Completion::Kind kind;
    SlotRange slot;
    uint64_t limit;
  };

  explicit FakeNetwork(unsigned seed, size_t queue) : random(seed), queue(queue) {}

  bool chance(unsigned percent) { return random() % 100 < percent; }

  std::mt19937 random;
  const size_t queue;  // operations under way that a side may have
  unsigned laterPercent = 20;
  std::string failure;  // what the next poll throws
  char* senderMemory = nullptr;
  char* receiverMemory = nullptr;
  std::vector<SlotRange> posted;  // receives
  std::vector<Message> toReceiver;
  std::vector<Message> toSender;
  std::vector<Completion> sent;  // completions that the sender has not polled
  size_t sending = 0;
  size_t crediting = 0;
  bool greetingSent = false;
  bool greetingTaken = false;
};

class FakeEndpoint : public Endpoint {
 public:
  FakeEndpoint(FakeNetwork& network, Role role, uint64_t window) : network_(network), role_(role), window_(window) {}

  EndpointAddress address() const override { return {}; }
  void connect(const EndpointAddress&) override {}
  uint64_t window() const override { return window_; }
  bool usesAnyMemory() const override { return true; }
  size_t pending() const override { return role_ == Role::kSender ? network_.sending : network_.crediting; }
  std::string describe() const override { return "fake"; }

  bool postSend(const SlotRange& slot) override {
    if (network_.sending >= network_.queue || network_.chance(network_.laterPercent)) return false;
    for (const auto& other : network_.toReceiver)
      if (other.slot.channel == slot.channel && other.slot.slot == slot.slot)
        throw std::logic_error("two messages for one slot");
    ++network_.sending;
    network_.toReceiver.push_back({Completion::Kind::kArrived, slot, 0});
    return true;
  }

  bool postReceive(const SlotRange& slot) override {
    if (network_.chance(network_.laterPercent)) return false;
    network_.posted.push_back(slot);
    return true;
  }

  bool postCredit(uint32_t channel, uint64_t limit) override {
    if (network_.crediting >= network_.queue || network_.chance(network_.laterPercent)) return false;
    ++network_.crediting;
    network_.toSender.push_back({Completion::Kind::kCredit, {channel, 0, 0, 0, 0, nullptr, 0}, limit});
    return true;
  }

  size_t poll(std::span<Completion> completions) override {
    if (!network_.failure.empty()) throw Error(ncclSystemError, network_.failure);
    return role_ == Role::kSender ? pollSender(completions) : pollReceiver(completions);
  }

 private:
  // A random message out of the ones under way.
  FakeNetwork::Message take(std::vector<FakeNetwork::Message>& messages) {
    const size_t index = network_.random() % messages.size();
    const auto message = messages[index];
    messages.erase(messages.begin() + static_cast<long>(index));
    return message;
  }

  size_t pollReceiver(std::span<Completion> completions) {
    size_t count = 0;
    if (network_.greetingSent && !network_.greetingTaken && !network_.chance(90)) {
      network_.greetingTaken = true;
      completions[count++] = {Completion::Kind::kHello, 0, 0, 0};
    }
    while (count < completions.size() && !network_.toReceiver.empty() && !network_.chance(50)) {
      const auto message = take(network_.toReceiver);
      const auto receive = std::find_if(network_.posted.begin(), network_.posted.end(), [&](const SlotRange& slot) {
        return slot.channel == message.slot.channel && slot.slot == message.slot.slot;
      });
      if (receive == network_.posted.end()) throw std::logic_error("a message without a receive");
      if (receive->bytes < message.slot.bytes) throw std::logic_error("a message longer than its receive");
      const SlotRange& from = message.slot;
      deliver(from, *receive);
      network_.posted.erase(receive);
      network_.sent.push_back({Completion::Kind::kSent, message.slot.channel, message.slot.slot, 0});
      completions[count++] = {Completion::Kind::kArrived, message.slot.channel, message.slot.slot, 0};
    }
    return count;
  }

  // Byte by byte: both sides may have pieces elsewhere.
  void deliver(const SlotRange& from, const SlotRange& to) {
    for (uint64_t i = 0; i < from.bytes; ++i) {
      const bool fromSlot = from.elsewhere == nullptr || i < from.headerBytes;
      const char byte = fromSlot ? network_.senderMemory[from.offset + i] : from.elsewhere[i - from.headerBytes];
      char* slot = network_.receiverMemory + to.offset;
      const uint64_t landEnd = to.headerBytes + to.elsewhereBytes;
      if (to.elsewhere == nullptr || i < to.headerBytes) {
        slot[i] = byte;
      } else if (i < landEnd) {
        to.elsewhere[i - to.headerBytes] = byte;
      } else {
        slot[i - to.elsewhereBytes] = byte;
      }
    }
  }

  size_t pollSender(std::span<Completion> completions) {
    size_t count = 0;
    network_.greetingSent = true;
    while (count < completions.size() && !network_.sent.empty() && !network_.chance(30)) {
      const size_t index = network_.random() % network_.sent.size();
      completions[count++] = network_.sent[index];
      network_.sent.erase(network_.sent.begin() + static_cast<long>(index));
      --network_.sending;
    }
    while (count < completions.size() && !network_.toSender.empty() && !network_.chance(30)) {
      const auto message = take(network_.toSender);
      --network_.crediting;
      completions[count++] = {Completion::Kind::kCredit, message.slot.channel, 0, message.limit};
    }
    return count;
  }

  FakeNetwork& network_;
  const Role role_;
  const uint64_t window_;
};

}  // namespace rondo::fabric
