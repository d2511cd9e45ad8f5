// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How a communicator is made: ranks meet and connect the control plane, then over it compare settings, allocate and map
// FIFOs.
#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/comm/communicator.h"
#include "src/comm/exchange.h"
#include "src/topology/placement.h"
#include "transport/bootstrap/control_bootstrap.h"
#include "transport/bootstrap/init_timeout.h"

namespace rondo {
namespace {

constexpr uint32_t kProtocolVersion = 2;  // of what ranks exchange and of the FIFO

struct RankRecord {
  uint32_t version;
  SettingsRequest settings;
  DeviceLimits limits;
  Location location;
  uint64_t id;  // rank 0's becomes the communicator's
};

struct Nothing {};

void checkVersions(const std::vector<RankRecord>& records) {
  for (size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank].version != records[0].version) {
      fail(ncclInvalidUsage, "ranks use different versions of Rondo: protocol {} on rank 0, {} on rank {}",
           records[0].version, records[rank].version, rank);
    }
  }
}

}  // namespace

DeviceLimits Communicator::deviceLimits() const {
  const runtime::DeviceProperties properties = runtime::deviceProperties(device_);
  const auto wave = static_cast<uint32_t>(properties.waveSize);
  DeviceLimits limits{};
  limits.waveSize = wave;
  limits.residentBlocks = static_cast<uint32_t>(properties.multiprocessors * properties.residentBlocks);
  limits.defaultWorkerThreads = properties.isEmulated ? kEmulatedWorkers * wave : kMaxWorkerThreads;
  limits.defaultChannels = properties.isEmulated ? kEmulatedChannels : kGpuChannels;
  return limits;
}

Communicator::Communicator(const InitRequest& request, const std::atomic<bool>& cancelled)
    : rank_(request.rank), ranks_(request.ranks), device_(request.device), config_(request.config) {
  const runtime::DeviceGuard guard(device_);
  log::setThreadDevice(device_);
  env::nameIgnored();
  log::info(log::kInit, "ncclCommInitRank rank {} nranks {} cudaDev {} - Init START", rank_, ranks_, device_);
  const AbortPredicate aborted = [&cancelled] { return cancelled.load(); };
  const auto bootstrap = request.bootstrap ? makeCallbackBootstrap(*request.bootstrap, rank_, ranks_)
                                           : connectSocketBootstrap(request.id, rank_, ranks_, aborted);
  meet(*bootstrap, aborted);
  ControlBootstrap exchanges(*control_, aborted, initTimeout());
  try {
    join(exchanges, aborted);
    enter();
  } catch (const Error& error) {
    // Those that are still in an exchange learn why; where all failed alike, or an error was told before, it is no news.
    control_->raise(remoteCode(error.code()), rank_, fmt::format("{}: {}", control_->describe(rank_), error.text()));
    throw;
  }
  log::info(log::kInit, "ncclCommInitRank rank {} nranks {} cudaDev {} depth {} slot {} bytes channels {} - Init COMPLETE",
            rank_, ranks_, device_, settings_.depth, settings_.slotBytes, settings_.maxChannels);
}

// After it an error or the death of any rank is everybody's error.
void Communicator::meet(Bootstrap& bootstrap, const AbortPredicate& aborted) {
  control_ = std::make_unique<ControlPlane>(
      bootstrap, ControlCallbacks{[this](ncclResult_t code, int, const std::string& text) { fail(code, text); },
                                  [this] {
                                    checkReport();
                                    watchWaits();
                                  },
                                  [this](int rank, const std::vector<char>& content) { hearNote(rank, content); }},
      aborted);
}

// From here on the service thread tells errors.
void Communicator::enter() {
  controlReady_ = true;
  std::lock_guard lock(errorMutex_);
  if (error_ != ncclSuccess) throw Error(error_, errorText_);
  entered_ = true;
}

void Communicator::join(Bootstrap& bootstrap, const AbortPredicate& aborted) {
  const auto records = exchange<RankRecord>(bootstrap, [&] {
    RankRecord record{};
    record.version = kProtocolVersion;
    record.limits = deviceLimits();
    record.settings = readSettings(record.limits, config_.minChannels, config_.maxChannels);
    const runtime::DeviceProperties properties = runtime::deviceProperties(device_);
    record.location = locate(properties.busId, properties.isEmulated);
    record.id = randomBits();
    hangWatch_ = std::make_unique<HangWatch>(rank_, ranks_, readCallTimeout());
    return record;
  });
  checkVersions(records);
  id_ = records[0].id;
  std::vector<Location> locations;
  for (const RankRecord& record : records) locations.push_back(record.location);
  const Topology topology(std::move(locations));
  ring_ = makeRing(topology, static_cast<uint32_t>(rank_));

  std::vector<SettingsRequest> requests;
  for (uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    requests.push_back(records[rank].settings);
    requests.back().channelsThatFit = channelsThatFit(records[rank].limits, topology.ranksOnDeviceOf(rank));
  }
  const uint32_t wave = records[static_cast<size_t>(rank_)].limits.waveSize;
  bool severalHosts = false;
  for (uint32_t rank = 1; rank < topology.ranks(); ++rank) severalHosts = severalHosts || !topology.sameHost(0, rank);
  settings_ = agreeOnSettings(std::move(requests), {static_cast<uint32_t>(rank_), wave, severalHosts});
  sequence_ = settings_.firstStep;
  connect(bootstrap, topology, aborted);
}

void Communicator::connect(Bootstrap& bootstrap, const Topology& topology, const AbortPredicate& aborted) {
  exchange<Nothing>(bootstrap, [&] {
    report_ = std::make_unique<Report>();
    lastLaunch_ = std::make_unique<runtime::Event>();
    return Nothing{};
  });
  if (ranks_ == 1) return;
  const auto describeRank = [this](int rank) { return control_->describe(rank); };
  const auto onNetworkError = [this](ncclResult_t code, const std::string& text) {
    control_->raise(code, rank_, fmt::format("{}: {}", control_->describe(rank_), text));
  };
  const AbortPredicate failedOrAborted = [this, &aborted] {
    throwIfFailed();
    return aborted();
  };
  const runtime::DeviceProperties properties = runtime::deviceProperties(device_);
  wiring_ = std::make_unique<Wiring>(
      WiringRequest{rank_, device_, properties.busId, properties.isEmulated, topology, ring_, settings_,
                    &report_->page(), describeRank, onNetworkError},
      bootstrap, failedOrAborted);
  exchange<Nothing>(bootstrap, [&] {
    std::vector<ChannelState> states(settings_.maxChannels);
    for (uint32_t channel = 0; channel < settings_.maxChannels; ++channel) {
      ChannelState& state = states[channel];
      state.receive = wiring_->receiveFifo(channel);
      state.send = wiring_->sendFifo(channel);
      state.receiveStep.value = state.sendStep.value = settings_.firstStep;
      state.previous = ring_.previous();
      state.next = ring_.next();
      state.readsSource = wiring_->readsSource() ? 1 : 0;
      state.landing = wiring_->landing(channel);
      state.report = &report_->page();
      state.ended = wiring_->endedWord(channel);
    }
    channels_ = runtime::DeviceMemory(states.size() * sizeof(ChannelState), runtime::MemoryUse::kPrivate);
    runtime::copyToDevice(channels_.data(), states.data(), states.size() * sizeof(ChannelState));
    return Nothing{};
  });
}

}  // namespace rondo
