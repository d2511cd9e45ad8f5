// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/plan/settings.h"

#include <algorithm>
#include <optional>

#include "device/shared/report.h"
#include "src/base/env.h"
#include "src/base/error.h"

namespace rondo {
namespace {

constexpr uint64_t kDefaultBufferBytes = 4u << 20;
constexpr uint64_t kMaxBufferBytes = 1u << 30;
constexpr uint32_t kCommunicatorsTogether = 4;

Choice readDepth(const DeviceLimits& limits) {
  const std::string range = "1, 2, 4, 8, 16, 32 or 64";
  const auto given = env::integer("NCCL_STEPS", 1, kMaxDepth, range);
  if (!given) return {limits.waveSize / 4, 0};
  if ((*given & (*given - 1)) != 0) fail(ncclInvalidArgument, "NCCL_STEPS={}: must be {}", *given, range);
  return {static_cast<uint64_t>(*given), 1};
}

Choice readBufferBytes(uint64_t depth) {
  const auto least = static_cast<int64_t>(depth * kSlotAlignment);
  const std::string range = fmt::format("from {} ({} bytes per slot at depth {}) to {} bytes", least, kSlotAlignment, depth, kMaxBufferBytes);
  const auto given = env::integer("NCCL_BUFFSIZE", least, kMaxBufferBytes, range);
  if (!given) return {kDefaultBufferBytes, 0};
  return {static_cast<uint64_t>(*given), 1};
}

uint64_t readWorkerThreads(const DeviceLimits& limits) {
  const int64_t wave = limits.waveSize;
  const std::string range = fmt::format("a multiple of the wave size {} from {} to {}", wave, wave, kMaxWorkerThreads);
  const auto given = env::integer("NCCL_NTHREADS", wave, kMaxWorkerThreads, range);
  if (!given) return limits.defaultWorkerThreads;
  if (*given % wave != 0) fail(ncclInvalidArgument, "NCCL_NTHREADS={}: must be {}", *given, range);
  return static_cast<uint64_t>(*given);
}

// The variable, else its deprecated or newer twin, else the config's value, else the default.
Choice readChannels(const char* variable, const char* twin, int config, uint32_t otherwise) {
  auto given = env::integer(variable, 1, kMaxChannels);
  if (!given) given = env::integer(twin, 1, kMaxChannels);
  if (!given && config != 0) given = config;
  if (!given) return {otherwise, 0};
  return {static_cast<uint64_t>(*given), 1};
}

Choice readFlag(const char* variable) {
  const auto given = env::integer(variable, 0, 1);
  return {static_cast<uint64_t>(given.value_or(0)), given ? 1u : 0u};
}

// "8 on ranks 0, 2; 16 on rank 1"
std::string listValues(const std::vector<SettingsRequest>& requests, Choice SettingsRequest::*field) {
  std::vector<uint64_t> values;
  for (const auto& request : requests) {
    const Choice& choice = request.*field;
    if (choice.isExplicit && std::find(values.begin(), values.end(), choice.value) == values.end())
      values.push_back(choice.value);
  }
  std::string text;
  for (uint64_t value : values) {
    std::string ranks;
    unsigned listed = 0;
    for (size_t rank = 0; rank < requests.size(); ++rank) {
      const Choice& choice = requests[rank].*field;
      if (!choice.isExplicit || choice.value != value) continue;
      if (++listed > 8) continue;
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    }
    if (listed > 8) ranks += fmt::format(" and {} more", listed - 8);
    text += fmt::format("{}{} on rank{} {}", text.empty() ? "" : "; ", value, listed > 1 ? "s" : "", ranks);
  }
  return text;
}

// The explicit value all agree on, else the smallest default.
uint64_t agree(const std::vector<SettingsRequest>& requests, Choice SettingsRequest::*field, const char* variable) {
  std::optional<uint64_t> wanted;
  uint64_t least = UINT64_MAX;
  for (const auto& request : requests) {
    const Choice& choice = request.*field;
    least = std::min(least, choice.value);
    if (!choice.isExplicit) continue;
    if (wanted && *wanted != choice.value)
      fail(ncclInvalidUsage, "{} differs between ranks: {}", variable, listValues(requests, field));
    wanted = choice.value;
  }
  return wanted.value_or(least);
}

void useNetworkDefaults(std::vector<SettingsRequest>& requests) {
  for (SettingsRequest& request : requests) {
    if (!request.bufferBytes.isExplicit) request.bufferBytes.value = kNetworkBufferBytes;
  }
}

}  // namespace

SettingsRequest readSettings(const DeviceLimits& limits, int configMinChannels, int configMaxChannels) {
  SettingsRequest request{};
  request.depth = readDepth(limits);
  request.bufferBytes = readBufferBytes(request.depth.value);
  request.workerThreads = readWorkerThreads(limits);
  request.minChannels = readChannels("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", configMinChannels, 1);
  const auto most = static_cast<uint32_t>(std::max<uint64_t>(limits.defaultChannels, request.minChannels.value));
  request.maxChannels = readChannels("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", configMaxChannels, most);
  request.p2pDisable = readFlag("NCCL_P2P_DISABLE");
  request.shmDisable = readFlag("NCCL_SHM_DISABLE");
  const auto firstStep = env::integer("RONDO_FIRST_STEP", 0, int64_t{1} << 62);
  request.firstStep = {static_cast<uint64_t>(firstStep.value_or(0)), firstStep ? 1u : 0u};
  if (request.minChannels.value > request.maxChannels.value) {
    fail(ncclInvalidArgument, "NCCL_MIN_NCHANNELS={}: must be at most NCCL_MAX_NCHANNELS={}",
         request.minChannels.value, request.maxChannels.value);
  }
  return request;
}

uint32_t channelsThatFit(const DeviceLimits& limits, uint32_t ranksOnDevice) {
  return limits.residentBlocks / (ranksOnDevice * kCommunicatorsTogether);
}

Settings agreeOnSettings(std::vector<SettingsRequest> requests, const AgreeFor& own) {
  Settings settings{};
  settings.usesPeer = agree(requests, &SettingsRequest::p2pDisable, "NCCL_P2P_DISABLE") == 0;
  settings.usesNetwork = own.severalHosts || !settings.usesPeer;
  if (settings.usesNetwork) useNetworkDefaults(requests);
  settings.depth = static_cast<uint32_t>(agree(requests, &SettingsRequest::depth, "NCCL_STEPS"));
  const uint64_t bufferBytes = agree(requests, &SettingsRequest::bufferBytes, "NCCL_BUFFSIZE");
  settings.slotBytes = bufferBytes / settings.depth / kSlotAlignment * kSlotAlignment;
  if (settings.slotBytes == 0) {
    fail(ncclInvalidUsage, "NCCL_BUFFSIZE={}: must be at least {} at the agreed depth {}", bufferBytes,
         settings.depth * kSlotAlignment, settings.depth);
  }
  uint64_t least = agree(requests, &SettingsRequest::minChannels, "NCCL_MIN_NCHANNELS");
  uint64_t most = agree(requests, &SettingsRequest::maxChannels, "NCCL_MAX_NCHANNELS");
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].channelsThatFit < least) {
      fail(ncclInvalidUsage,
           "NCCL_MIN_NCHANNELS={}: rank {} has room for {} channels (blocks that can run together on its device, shared "
           "by the ranks there and {} communicators)",
           least, i, requests[i].channelsThatFit, kCommunicatorsTogether);
    }
    most = std::min(most, requests[i].channelsThatFit);
  }
  settings.minChannels = static_cast<uint32_t>(least);
  settings.maxChannels = static_cast<uint32_t>(std::max(most, least));
  settings.workers = static_cast<uint32_t>(requests[own.rank].workerThreads / own.waveSize);
  settings.waveSize = own.waveSize;
  settings.usesShm = agree(requests, &SettingsRequest::shmDisable, "NCCL_SHM_DISABLE") == 0;
  settings.firstStep = agree(requests, &SettingsRequest::firstStep, "RONDO_FIRST_STEP");
  return settings;
}

}  // namespace rondo
