// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One emulated device of this process: its memory, its streams, its limit of resident blocks and its failure. Created
// at its first use and never destroyed (streams may be busy when the process exits). Any thread.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/emu/arena.h"
#include "device/emu/block_limit.h"
#include "device/emu/stream.h"

namespace rondo::emu {

class Device {
 public:
  explicit Device(int index);

  int index() const { return index_; }
  Arena& arena() { return arena_; }

  // A kernel launch acquires its blocks on the stream's thread before the first one runs; see BlockLimit.
  int blockLimit() const { return blocks_.limit(); }
  bool acquireBlocks(int count) { return blocks_.acquire(count); }
  void releaseBlocks(int count) { blocks_.release(count); }

  // The first failure of the device's work. It stays: work is left out and calls answer it until cudaDeviceReset.
  cudaError_t failure() const { return failure_.load(std::memory_order_acquire); }
  void fail(cudaError_t code, const char* text);
  void clearFailure() { failure_.store(cudaSuccess, std::memory_order_release); }

  std::shared_ptr<Stream> createStream(unsigned flags, int priority);
  std::shared_ptr<Stream> legacyStream();

  // Appends a task to one of this device's streams, in the null stream's order: a task of the legacy stream comes after
  // all earlier work of the blocking streams, and later work of those comes after it.
  void submit(const std::shared_ptr<Stream>& stream, std::function<void()> run, TaskKind kind);

  // The unfinished work that a task submitted to 'stream' now would come after.
  std::vector<StreamPoint> pendingBefore(const std::shared_ptr<Stream>& stream);
  // The unfinished work that synchronising 'stream' waits for.
  std::vector<StreamPoint> pendingOf(const std::shared_ptr<Stream>& stream);
  // The unfinished work of all streams, destroyed ones too.
  std::vector<StreamPoint> pendingOfAll();

  // Called by a stream when it has ended.
  void forget(const Stream& stream);

 private:
  std::vector<StreamPoint> pendingBeforeLocked(const std::shared_ptr<Stream>& stream);

  const int index_;
  Arena arena_;
  BlockLimit blocks_;
  std::atomic<cudaError_t> failure_{cudaSuccess};

  std::mutex orderMutex_;  // protects the two below and the null stream's order; taken before a Stream's lock
  std::vector<std::shared_ptr<Stream>> streams_;  // all that have not ended, the legacy stream among them
  std::shared_ptr<Stream> legacy_;
};

// The device, made if need be. index must be in [0, options().devices).
Device& device(int index);
// The same without making it: nullptr if nobody used it.
Device* deviceIfUsed(int index);
// The devices made so far.
std::vector<Device*> devicesInUse();
size_t touchedBytesOfAllDevices();

// The calling thread's device: 0 until cudaSetDevice.
int currentDevice();
void setCurrentDevice(int index);

}  // namespace rondo::emu
