// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/device.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "device/emu/options.h"

namespace rondo::emu {
namespace {

thread_local int threadDevice = 0;

struct DeviceTable {
  std::mutex mutex;  // protects devices; a leaf lock
  std::map<int, Device*> devices;
};

DeviceTable& table() {
  static auto* devices = new DeviceTable;  // never destroyed, like the devices
  return *devices;
}

void addPending(const std::shared_ptr<Stream>& stream, std::vector<StreamPoint>& points) {
  const uint64_t number = stream->submitted();
  if (!stream->done(number)) points.push_back({stream, number});
}

}  // namespace

Device& device(int index) {
  DeviceTable& devices = table();
  std::lock_guard lock(devices.mutex);
  Device*& entry = devices.devices[index];
  if (entry == nullptr) entry = new Device(index);
  return *entry;
}

Device* deviceIfUsed(int index) {
  DeviceTable& devices = table();
  std::lock_guard lock(devices.mutex);
  const auto entry = devices.devices.find(index);
  return entry != devices.devices.end() ? entry->second : nullptr;
}

std::vector<Device*> devicesInUse() {
  DeviceTable& devices = table();
  std::lock_guard lock(devices.mutex);
  std::vector<Device*> used;
  for (const auto& [index, entry] : devices.devices) used.push_back(entry);
  return used;
}

size_t touchedBytesOfAllDevices() {
  size_t total = 0;
  for (Device* entry : devicesInUse()) total += entry->arena().touchedBytes();
  return total;
}

int currentDevice() {
  return threadDevice;
}
void setCurrentDevice(int index) {
  threadDevice = index;
}

Device::Device(int index) : index_(index), arena_(index), blocks_(options().blocks) {}

void Device::fail(cudaError_t code, const char* text) {
  cudaError_t none = cudaSuccess;
  if (!failure_.compare_exchange_strong(none, code, std::memory_order_acq_rel)) return;  // the first failure counts
  std::fprintf(stderr, "rondo: emulated device %d: work failed: %s\n", index_, text);
}

std::shared_ptr<Stream> Device::createStream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(*this, flags, priority);
  std::lock_guard lock(orderMutex_);
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Device::legacyStream() {
  std::lock_guard lock(orderMutex_);
  if (legacy_ == nullptr) {
    legacy_ = std::make_shared<Stream>(*this, cudaStreamDefault, 0);
    streams_.push_back(legacy_);
  }
  return legacy_;
}

void Device::submit(const std::shared_ptr<Stream>& stream, std::function<void()> run, TaskKind kind) {
  if (!stream->blocking()) {
    stream->submit(std::move(run), kind);
    return;
  }
  std::lock_guard lock(orderMutex_);
  std::vector<StreamPoint> points = pendingBeforeLocked(stream);
  // A stream is in order with itself.
  std::erase_if(points, [&](const StreamPoint& point) { return point.stream == stream; });
  if (!points.empty()) {
    stream->submit(
        [points = std::move(points)] {
          for (const StreamPoint& point : points) point.wait();
        },
        TaskKind::kOrder);
  }
  stream->submit(std::move(run), kind);
}

std::vector<StreamPoint> Device::pendingBeforeLocked(const std::shared_ptr<Stream>& stream) {
  std::vector<StreamPoint> points;
  if (stream != legacy_) {
    addPending(stream, points);
    if (stream->blocking() && legacy_ != nullptr) addPending(legacy_, points);
    return points;
  }
  for (const auto& other : streams_) {
    if (other->blocking()) addPending(other, points);
  }
  return points;
}

std::vector<StreamPoint> Device::pendingBefore(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(orderMutex_);
  return pendingBeforeLocked(stream);
}

std::vector<StreamPoint> Device::pendingOf(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(orderMutex_);
  if (stream == legacy_) return pendingBeforeLocked(stream);
  std::vector<StreamPoint> points;
  addPending(stream, points);
  return points;
}

std::vector<StreamPoint> Device::pendingOfAll() {
  std::lock_guard lock(orderMutex_);
  std::vector<StreamPoint> points;
  for (const auto& stream : streams_) addPending(stream, points);
  return points;
}

void Device::forget(const Stream& stream) {
  std::lock_guard lock(orderMutex_);
  std::erase_if(streams_, [&](const auto& entry) { return entry.get() == &stream; });
}

}  // namespace rondo::emu
