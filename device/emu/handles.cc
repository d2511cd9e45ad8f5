// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/handles.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "device/emu/device.h"

namespace rondo::emu {
namespace {

struct HandleTable {
  std::shared_mutex mutex;  // protects both maps; a leaf lock
  std::unordered_map<const void*, std::shared_ptr<Stream>> streams;
  std::unordered_map<const void*, std::shared_ptr<Event>> events;
};

HandleTable& table() {
  static auto* handles = new HandleTable;  // never destroyed: streams may be busy at exit
  return *handles;
}

// This thread's cudaStreamPerThread, one per device.
struct ThreadStreams {
  std::map<const Device*, std::shared_ptr<Stream>> streams;
  ~ThreadStreams() {
    for (auto& [owner, stream] : streams) stream->close();
  }
};
thread_local ThreadStreams threadStreams;

std::shared_ptr<Stream> threadStream(Device& owner) {
  std::shared_ptr<Stream>& stream = threadStreams.streams[&owner];
  if (stream == nullptr) stream = owner.createStream(cudaStreamDefault, 0);
  return stream;
}

template <class Object>
std::shared_ptr<Object> take(std::unordered_map<const void*, std::shared_ptr<Object>>& objects, const void* handle) {
  std::lock_guard lock(table().mutex);
  const auto entry = objects.find(handle);
  if (entry == objects.end()) return nullptr;
  std::shared_ptr<Object> object = std::move(entry->second);
  objects.erase(entry);
  return object;
}

template <class Object>
std::shared_ptr<Object> find(std::unordered_map<const void*, std::shared_ptr<Object>>& objects, const void* handle) {
  std::shared_lock lock(table().mutex);
  const auto entry = objects.find(handle);
  return entry != objects.end() ? entry->second : nullptr;
}

}  // namespace

cudaStream_t addStream(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(table().mutex);
  table().streams[stream.get()] = stream;
  return reinterpret_cast<cudaStream_t>(stream.get());
}

std::shared_ptr<Stream> findStream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return device(currentDevice()).legacyStream();
  if (handle == cudaStreamPerThread) return threadStream(device(currentDevice()));
  return find(table().streams, handle);
}

std::shared_ptr<Stream> removeStream(cudaStream_t handle) {
  return take(table().streams, handle);
}

cudaEvent_t addEvent(const std::shared_ptr<Event>& event) {
  std::lock_guard lock(table().mutex);
  table().events[event.get()] = event;
  return reinterpret_cast<cudaEvent_t>(event.get());
}

std::shared_ptr<Event> findEvent(cudaEvent_t handle) {
  return find(table().events, handle);
}

std::shared_ptr<Event> removeEvent(cudaEvent_t handle) {
  return take(table().events, handle);
}

void removeHandlesOf(const Device& device) {
  std::unordered_map<const void*, std::shared_ptr<Stream>> closed;
  {
    std::lock_guard lock(table().mutex);
    std::erase_if(table().events, [&](const auto& entry) { return &entry.second->device() == &device; });
    std::erase_if(table().streams, [&](const auto& entry) {
      if (&entry.second->device() != &device) return false;
      closed.insert(entry);
      return true;
    });
  }
  for (auto& [handle, stream] : closed) stream->close();
}

}  // namespace rondo::emu
