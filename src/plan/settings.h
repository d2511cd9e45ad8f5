// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The settings of a communicator: read from the environment and the config on each rank, exchanged, and agreed on. Ranks
// must not differ in what is set explicitly; a default that follows the wave takes the smallest over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/shared/fifo.h"
#include "device/shared/limits.h"

namespace rondo {

// Of the device and the vendor; what defaults depend on.
struct DeviceLimits {
  uint32_t waveSize;        // 32 or 64
  uint32_t residentBlocks;  // blocks that can run together on the device
  uint32_t defaultWorkerThreads;
  uint32_t defaultChannels;
};

// Defaults. On the emulated device one OS thread runs all blocks of a stream, so more of them bring nothing.
constexpr uint32_t kEmulatedWorkers = 2;
constexpr uint32_t kEmulatedChannels = 1;
constexpr uint32_t kGpuChannels = 16;
// Networks of the emulated device cost some 100 us of host time per message, whatever its size: large slots.
constexpr uint64_t kNetworkBufferBytes = 1 << 24;

// A value and whether somebody asked for it.
struct Choice {
  uint64_t value;
  uint32_t isExplicit;
  uint32_t unused = 0;
};

// What one rank brings, exchanged as plain bytes.
struct SettingsRequest {
  Choice depth;
  Choice bufferBytes;
  Choice minChannels;
  Choice maxChannels;
  Choice p2pDisable;
  Choice shmDisable;
  Choice firstStep;
  uint64_t workerThreads;
  uint64_t channelsThatFit;  // filled in when it is known how many ranks share the device
};

struct Settings {
  uint32_t depth;
  uint64_t slotBytes;
  uint32_t minChannels;
  uint32_t maxChannels;
  uint32_t workers;  // worker waves per block; may differ between ranks
  uint32_t waveSize;
  bool usesPeer;  // ranks of one host reach each other's memory
  bool usesShm;   // where they do not, the shm provider may connect them
  bool usesNetwork;  // some link of the ring may be a network
  uint64_t firstStep;
};

// From the environment; config values (0: not given) come from ncclConfig_t. Throws Error(ncclInvalidArgument) with one
// line: variable, value, range.
SettingsRequest readSettings(const DeviceLimits& limits, int configMinChannels, int configMaxChannels);

// How many channels of one communicator fit on a device that 'ranksOnDevice' of its ranks share: all kernels of four
// communicators must be able to run together.
uint32_t channelsThatFit(const DeviceLimits& limits, uint32_t ranksOnDevice);

// What agreeing needs to know besides the requests.
struct AgreeFor {
  uint32_t rank;
  uint32_t waveSize;
  bool severalHosts;
};

// The agreed settings; throws Error(ncclInvalidUsage) that lists the ranks where explicit values differ.
Settings agreeOnSettings(std::vector<SettingsRequest> requests, const AgreeFor& own);

}  // namespace rondo
