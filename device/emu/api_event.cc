// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exported functions about events.
#include <cuda_runtime.h>

#include <memory>
#include <utility>

#include "device/emu/api_call.h"
#include "device/emu/device.h"
#include "device/emu/handles.h"

namespace {

using namespace rondo::emu;

template <class Body>
cudaError_t withEvent(cudaEvent_t handle, Body&& body) {
  return apiCall([&] {
    const std::shared_ptr<Event> event = findEvent(handle);
    return event != nullptr ? std::forward<Body>(body)(*event) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t recordOn(Event& event, const std::shared_ptr<Stream>& stream) {
  Device& home = stream->device();
  if (&event.device() != &home) {
    return failCall(cudaErrorInvalidResourceHandle, "the event is of device %d, the stream of device %d",
                    event.device().index(), home.index());
  }
  if (home.failure() != cudaSuccess) return home.failure();
  auto record = std::make_shared<EventRecord>(stream->id());
  if (home.pendingBefore(stream).empty()) {
    record->reach();  // nothing to wait for: no need to wake the stream's thread
  } else {
    home.submit(
        stream, [record] { record->reach(); }, TaskKind::kOrder);
  }
  event.setLatest(std::move(record));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return deviceCall([&] {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming;
    if ((flags & cudaEventInterprocess) != 0) {
      return failCall(cudaErrorNotSupported, "the emulated device's events do not cross processes");
    }
    if (event == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    *event = addEvent(std::make_shared<Event>(device(currentDevice()), flags));
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t streamHandle, unsigned int flags) {
  return withEvent(handle, [&](Event& event) {
    if ((flags & ~unsigned{cudaEventRecordExternal}) != 0) return cudaErrorInvalidValue;
    const std::shared_ptr<Stream> stream = findStream(streamHandle);
    return stream != nullptr ? recordOn(event, stream) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return withEvent(handle, [](Event& event) {
    const std::shared_ptr<EventRecord> record = event.latest();
    const bool reached = record == nullptr || record->waitAWhile();
    if (event.device().failure() != cudaSuccess) return event.device().failure();
    return reached ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return withEvent(handle, [](Event& event) {
    const std::shared_ptr<EventRecord> record = event.latest();
    if (record != nullptr) record->wait();
    return event.device().failure();
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return apiCall([&] { return removeEvent(handle) != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t startHandle, cudaEvent_t endHandle) {
  return withEvent(startHandle, [&](Event& start) {
    const std::shared_ptr<Event> end = findEvent(endHandle);
    if (ms == nullptr) return cudaErrorInvalidValue;
    if (end == nullptr || !start.timed() || !end->timed() || &start.device() != &end->device()) {
      return cudaErrorInvalidResourceHandle;
    }
    const std::shared_ptr<EventRecord> first = start.latest();
    const std::shared_ptr<EventRecord> last = end->latest();
    if (first == nullptr || last == nullptr)
      return failCall(cudaErrorInvalidResourceHandle, "an event was never recorded");
    if (start.device().failure() != cudaSuccess) return start.device().failure();
    if (!first->reached() || !last->reached()) return cudaErrorNotReady;
    *ms = static_cast<float>(static_cast<double>(last->time_ns() - first->time_ns()) / 1e6);
    return cudaSuccess;
  });
}

}  // extern "C"
