// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exported functions about streams.
#include <cuda_runtime.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "device/emu/api_call.h"
#include "device/emu/device.h"
#include "device/emu/handles.h"

namespace {

using namespace rondo::emu;

cudaError_t createStream(cudaStream_t* handle, unsigned flags, int priority) {
  return deviceCall([&] {
    if (handle == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
    *handle = addStream(device(currentDevice()).createStream(flags, priority));
    return cudaSuccess;
  });
}

// Runs body with the stream of a handle.
template <class Body>
cudaError_t withStream(cudaStream_t handle, Body&& body) {
  return apiCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    return stream != nullptr ? std::forward<Body>(body)(stream) : cudaErrorInvalidResourceHandle;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return createStream(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return createStream(stream, flags, 0);
}

// Priorities are accepted and have no effect, as the range (0, 0) says.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  return createStream(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return apiCall([&] {
    const std::shared_ptr<Stream> stream = removeStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    stream->close();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return withStream(handle, [](const std::shared_ptr<Stream>& stream) {
    for (const StreamPoint& point : stream->device().pendingOf(stream)) point.wait();
    return stream->device().failure();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return withStream(handle, [](const std::shared_ptr<Stream>& stream) {
    const std::vector<StreamPoint> pending = stream->device().pendingOf(stream);
    const bool idle = std::all_of(pending.begin(), pending.end(), [](const StreamPoint& point) { return point.waitAWhile(); });
    const cudaError_t failure = stream->device().failure();
    if (failure != cudaSuccess) return failure;
    return idle ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t eventHandle, unsigned int flags) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    const std::shared_ptr<Event> event = findEvent(eventHandle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if ((flags & ~unsigned{cudaEventWaitExternal}) != 0) return cudaErrorInvalidValue;
    if (stream->device().failure() != cudaSuccess) return stream->device().failure();
    const std::shared_ptr<EventRecord> record = event->latest();
    if (record == nullptr || record->reached() || record->streamId() == stream->id()) return cudaSuccess;
    stream->device().submit(
        stream, [record] { record->wait(); }, TaskKind::kOrder);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = stream->device().index();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = stream->flags();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = stream->priority();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* streamId) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (streamId == nullptr) return cudaErrorInvalidValue;
    *streamId = stream->id();
    return cudaSuccess;
  });
}

// The emulated device captures no graphs.
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return withStream(handle, [&](const std::shared_ptr<Stream>&) {
    if (status == nullptr) return cudaErrorInvalidValue;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return apiCall([&] {
    thread_local cudaStreamCaptureMode threadMode = cudaStreamCaptureModeGlobal;
    if (mode == nullptr || static_cast<unsigned>(*mode) > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    std::swap(threadMode, *mode);
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t fn, void* userData) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (fn == nullptr) return cudaErrorInvalidValue;
    if (stream->device().failure() != cudaSuccess) return stream->device().failure();
    stream->device().submit(
        stream, [fn, userData] { fn(userData); }, TaskKind::kWork);
    return cudaSuccess;
  });
}

// Unlike a host function it is called after a failure too, and told of it.
cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  return withStream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
    if (stream->device().failure() != cudaSuccess) return stream->device().failure();
    Device& home = stream->device();
    home.submit(
        stream, [=, &home] { callback(handle, home.failure(), userData); }, TaskKind::kOrder);
    return cudaSuccess;
  });
}

}  // extern "C"
