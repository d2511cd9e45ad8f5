// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/fabric.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "src/base/env.h"
#include "src/base/log.h"
#include "transport/fabric/module_loader.h"

namespace rondo {

using fabric::Connection;
using fabric::ReceiveConnection;
using fabric::Role;
using fabric::SendConnection;

// Words that different sides write lie on different cache lines.
struct FabricTransport::Words {
  alignas(kSlotAlignment) Word receiveTail;
  alignas(kSlotAlignment) Word receiveHead;
  alignas(kSlotAlignment) Word sendTail;
  alignas(kSlotAlignment) Word sendHead;
  alignas(kSlotAlignment) Word ended;
  alignas(kSlotAlignment) Landing landing;
};

FabricSettings readFabricSettings(uint32_t channels) {
  constexpr int64_t kMostQueue = 1 << 20;
  FabricSettings settings{};
  const auto endpoints = env::integer("RONDO_FABRIC_ENDPOINTS", 1, kMaxFabricEndpoints).value_or(1);
  settings.endpoints = std::min(static_cast<uint32_t>(endpoints), channels);
  const std::string operation = env::text("RONDO_FABRIC_OPERATION").value_or("");
  if (operation == "tagged") settings.operation = 1;
  if (operation == "write") settings.operation = 2;
  if (settings.operation == 0 && !operation.empty())
    fail(ncclInvalidArgument, "RONDO_FABRIC_OPERATION={}: must be tagged or write", operation);
  settings.sendQueue = static_cast<uint64_t>(env::integer("RONDO_FABRIC_TX_SIZE", 1, kMostQueue).value_or(0));
  settings.receiveQueue = static_cast<uint64_t>(env::integer("RONDO_FABRIC_RX_SIZE", 1, kMostQueue).value_or(0));
  settings.completionQueue = static_cast<uint64_t>(env::integer("RONDO_FABRIC_CQ_SIZE", 1, kMostQueue).value_or(0));
  return settings;
}

// The communicator's connections as the proxy sees them.
class FabricTransport::Client : public fabric::ProxyClient {
 public:
  Client(FabricTransport& owner, uint32_t channels)
      : onError_(owner.request_.onError), report_(owner.request_.report), launched_(channels) {
    for (uint32_t channel = 0; channel < channels; ++channel) ended_.push_back(owner.endedWord(channel));
  }

  void add(std::unique_ptr<Connection> connection) { connections_.push_back(std::move(connection)); }

  // Any thread.
  void noteLaunch(uint32_t count) {
    for (uint32_t channel = 0; channel < count; ++channel) launched_[channel].fetch_add(1, std::memory_order_relaxed);
  }
  void leave() { leaving_ = true; }
  bool ready() const {
    return std::all_of(connections_.begin(), connections_.end(), [](const auto& each) { return each->ready(); });
  }
  void throwIfFailed() const {
    std::lock_guard lock(mutex_);
    if (error_) throw *error_;
  }

  bool progress() override {
    // An aborted communicator's connections rest: peers may be gone, and what is under way is nobody's any more.
    if (failed_ || hostLoadRelaxed(report_->abort) != 0) return false;
    bool moved = false;
    for (const auto& connection : connections_) {
      try {
        if (connection->progress()) moved = true;
      } catch (const Error& error) {
        stop(error);
        return false;
      } catch (const std::exception& error) {
        stop(Error(ncclInternalError, error.what()));
        return false;
      }
    }
    return moved;
  }

  bool busy() const override {
    if (failed_ || hostLoadRelaxed(report_->abort) != 0) return false;
    if (leaving_ || !ready()) return true;
    for (size_t channel = 0; channel < ended_.size(); ++channel)
      if (launched_[channel].load(std::memory_order_relaxed) != hostLoadRelaxed(*ended_[channel])) return true;
    return std::any_of(connections_.begin(), connections_.end(), [](const auto& each) { return each->busy(); });
  }

 private:
  void stop(const Error& error) {
    failed_ = true;
    {
      std::lock_guard lock(mutex_);
      error_ = error;
    }
    if (!leaving_) onError_(error.code(), error.text());
  }

  const std::function<void(ncclResult_t, const std::string&)> onError_;
  ReportPage* const report_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::atomic<uint64_t>> launched_;
  std::vector<Word*> ended_;
  std::atomic<bool> leaving_{false};
  bool failed_ = false;       // proxy thread only
  mutable std::mutex mutex_;  // protects error_
  std::optional<Error> error_;
};

FabricTransport::FabricTransport(const FabricRequest& request)
    : request_(request),
      settings_(readFabricSettings(request.shape.channels)),
      words_(request.shape.channels * sizeof(Words)) {
  for (uint32_t channel = 0; channel < request_.shape.channels; ++channel) {
    Words& own = words(channel);
    own.receiveTail.value = own.receiveHead.value = own.sendTail.value = own.sendHead.value = request_.shape.firstStep;
  }
  if (!request_.receiveProvider.empty()) open(receive_, Role::kReceiver, request_.receiveProvider);
  if (!request_.sendProvider.empty()) open(send_, Role::kSender, request_.sendProvider);
}

FabricTransport::~FabricTransport() {
  if (proxy_) proxy_->remove(client_.get());
}

FabricTransport::Words& FabricTransport::words(uint32_t channel) const {
  return reinterpret_cast<Words*>(words_.data())[channel];
}

void FabricTransport::open(Direction& direction, Role role, const std::string& provider) {
  const FifoShape& shape = request_.shape;
  direction.slots = runtime::PinnedMemory(shape.channels * shape.slotsBytes());
  fabric::OpenRequest request{};
  request.provider = provider.c_str();
  request.role = role;
  request.memory = direction.slots.data();
  request.memoryBytes = direction.slots.bytes();
  request.sourceAddress = request_.sourceAddress.c_str();
  request.channels = shape.channels;
  request.depth = shape.depth;
  request.operation = settings_.operation;
  request.hostBuffers = request_.hostBuffers;
  request.sendQueue = settings_.sendQueue;
  request.receiveQueue = settings_.receiveQueue;
  request.completionQueue = settings_.completionQueue;
  for (uint32_t i = 0; i < settings_.endpoints; ++i) direction.endpoints.push_back(fabric::openEndpoint(request));
}

FabricAddress FabricTransport::address() const {
  FabricAddress address{};
  address.endpoints = settings_.endpoints;
  for (size_t i = 0; i < receive_.endpoints.size(); ++i) address.receivers[i] = receive_.endpoints[i]->address();
  for (size_t i = 0; i < send_.endpoints.size(); ++i) address.senders[i] = send_.endpoints[i]->address();
  return address;
}

std::vector<fabric::ChannelFifo> FabricTransport::fifosOf(const Direction& direction, Role role, uint32_t endpoint) const {
  std::vector<fabric::ChannelFifo> fifos;
  for (uint32_t channel = endpoint; channel < request_.shape.channels; channel += settings_.endpoints) {
    const Fifo fifo = role == Role::kReceiver ? receiveFifo(channel) : sendFifo(channel);
    const uint64_t offset = static_cast<uint64_t>(fifo.slots - direction.slots.data());
    fifos.push_back({channel, fifo, offset, role == Role::kReceiver ? landing(channel) : nullptr});
  }
  return fifos;
}

void FabricTransport::connect(const FabricAddress* previous, const FabricAddress* next) {
  readsSource_ = request_.hostBuffers && next != nullptr && send_.endpoints[0]->usesAnyMemory();
  lands_ = request_.hostBuffers && previous != nullptr && receive_.endpoints[0]->usesAnyMemory();
  client_ = std::make_shared<Client>(*this, request_.shape.channels);
  const auto connectAll = [&]<class Kind>(Direction& direction, Role role, const FabricAddress* peer,
                                          const fabric::EndpointAddress* addresses, const std::string& name) {
    if (peer == nullptr) return;
    if (peer->endpoints != settings_.endpoints)
      fail(ncclInvalidUsage, "RONDO_FABRIC_ENDPOINTS differs between ranks: {} here, {} on {}", settings_.endpoints,
           peer->endpoints, name);
    for (uint32_t i = 0; i < settings_.endpoints; ++i) {
      try {
        direction.endpoints[i]->connect(addresses[i]);
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("network to {}: {}", name, error.text()));
      }
      const char* way = role == Role::kSender ? "to" : "from";
      const std::string provider = direction.endpoints[i]->describe();
      log::info(log::kInit | log::kNet, "{} {} via NET/Fabric/{}", way, name, provider);
      if (i == 0) description_ += fmt::format("{}{} {} by {}", description_.empty() ? "" : ", ", way, name, provider);
      client_->add(std::make_unique<Kind>(std::move(direction.endpoints[i]), fifosOf(direction, role, i), name));
    }
  };
  connectAll.operator()<ReceiveConnection>(receive_, Role::kReceiver, previous,
                                           previous != nullptr ? previous->senders : nullptr, request_.previous);
  connectAll.operator()<SendConnection>(send_, Role::kSender, next, next != nullptr ? next->receivers : nullptr,
                                        request_.next);
  proxy_ = fabric::Proxy::ofDevice(request_.proxy);
  proxy_->add(client_);
}

void FabricTransport::waitReady(const std::function<bool()>& aborted) {
  while (!client_->ready()) {
    client_->throwIfFailed();
    if (aborted && aborted()) fail(ncclInvalidUsage, "init was given up");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Fifo FabricTransport::fifo(const Direction& direction, uint32_t channel, Word& tail, Word& head) const {
  const FifoShape& shape = request_.shape;
  return {&tail, &head, direction.slots.data() + channel * shape.slotsBytes(), shape.slotBytes, shape.depth};
}

Fifo FabricTransport::receiveFifo(uint32_t channel) const {
  return fifo(receive_, channel, words(channel).receiveTail, words(channel).receiveHead);
}

Fifo FabricTransport::sendFifo(uint32_t channel) const {
  return fifo(send_, channel, words(channel).sendTail, words(channel).sendHead);
}

Landing* FabricTransport::landing(uint32_t channel) const { return lands_ ? &words(channel).landing : nullptr; }

Word* FabricTransport::endedWord(uint32_t channel) const { return &words(channel).ended; }

void FabricTransport::noteLaunch(uint32_t count) {
  client_->noteLaunch(count);
  proxy_->wake();
}

void FabricTransport::leave() {
  client_->leave();
  proxy_->wake();
}

}  // namespace rondo
