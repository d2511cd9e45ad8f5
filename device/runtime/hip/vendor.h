// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The vendor layer for HIP (ROCm 5.2 and later).
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include <cstddef>
#include <cstring>

#include "device/runtime/runtime.h"

namespace rondo::runtime::vendor {

using Code = hipError_t;
using EventHandle = hipEvent_t;
using Properties = hipDeviceProp_t;
using CaptureMode = hipStreamCaptureMode;

constexpr Code kSuccess = hipSuccess;
constexpr Code kNotReady = hipErrorNotReady;
constexpr Code kPeerAlreadyEnabled = hipErrorPeerAccessAlreadyEnabled;
constexpr CaptureMode kRelaxedCapture = hipStreamCaptureModeRelaxed;

// See the CUDA layer.
constexpr size_t kShareUnitBytes = size_t{2} << 20;

inline const char* errorText(Code code) {
  return hipGetErrorString(code);
}
inline Code clearLastError() {
  return hipGetLastError();
}
inline const char* errorDetail() {
  return "";
}

// See runtime::IdleHelp.
inline Code startHelp(int (*)(void*), void*) {
  return hipSuccess;
}
inline void stopHelp(void*) {}

inline Code getDeviceCount(int* count) {
  return hipGetDeviceCount(count);
}
inline Code getDevice(int* device) {
  return hipGetDevice(device);
}
inline Code setDevice(int device) {
  return hipSetDevice(device);
}
inline Code getProperties(Properties* properties, int device) {
  return hipGetDeviceProperties(properties, device);
}
inline Code enablePeerAccess(int peer) {
  return hipDeviceEnablePeerAccess(peer, 0);
}

inline Code allocateDevice(void** address, size_t bytes) {
  return hipMalloc(address, bytes);
}
// Coarse-grained memory is coherent at kernel boundaries only; kernels that poll what others write need fine-grained.
inline Code allocateDeviceShared(void** address, size_t bytes) {
  return hipExtMallocWithFlags(address, bytes, hipDeviceMallocFinegrained);
}
inline Code freeDevice(void* address) {
  return hipFree(address);
}
inline Code allocatePinned(void** address, size_t bytes) {
  return hipHostMalloc(address, bytes, hipHostMallocMapped | hipHostMallocPortable | hipHostMallocCoherent);
}
inline Code freePinned(void* address) {
  return hipHostFree(address);
}

inline Code copyAsync(void* destination, const void* source, size_t bytes, Stream stream) {
  return hipMemcpyAsync(destination, source, bytes, hipMemcpyDefault, stream);
}
inline Code fillAsync(void* destination, int value, size_t bytes, Stream stream) {
  return hipMemsetAsync(destination, value, bytes, stream);
}

static_assert(sizeof(hipIpcMemHandle_t) == sizeof(MemoryHandle));
inline Code getHandle(MemoryHandle* handle, void* address) {
  hipIpcMemHandle_t own;
  const Code code = hipIpcGetMemHandle(&own, address);
  std::memcpy(handle, &own, sizeof own);
  return code;
}
inline Code openHandle(void** address, const MemoryHandle& handle) {
  hipIpcMemHandle_t own;
  std::memcpy(&own, &handle, sizeof own);
  return hipIpcOpenMemHandle(address, own, hipIpcMemLazyEnablePeerAccess);
}
inline Code closeHandle(void* address) {
  return hipIpcCloseMemHandle(address);
}

inline Code createStream(Stream* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamNonBlocking);
}
inline Code destroyStream(Stream stream) {
  return hipStreamDestroy(stream);
}
inline Code synchronizeStream(Stream stream) {
  return hipStreamSynchronize(stream);
}
inline Code waitEvent(Stream stream, EventHandle event) {
  return hipStreamWaitEvent(stream, event, 0);
}

inline Code createEvent(EventHandle* event) {
  return hipEventCreateWithFlags(event, hipEventDisableTiming | hipEventBlockingSync);
}
inline Code destroyEvent(EventHandle event) {
  return hipEventDestroy(event);
}
inline Code recordEvent(EventHandle event, Stream stream) {
  return hipEventRecord(event, stream);
}
inline Code queryEvent(EventHandle event) {
  return hipEventQuery(event);
}
inline Code synchronizeEvent(EventHandle event) {
  return hipEventSynchronize(event);
}

inline Code exchangeCaptureMode(CaptureMode* mode) {
  return hipThreadExchangeStreamCaptureMode(mode);
}
inline Code isCapturing(Stream stream, bool* capturing) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  const Code code = hipStreamIsCapturing(stream, &status);
  *capturing = status != hipStreamCaptureStatusNone;
  return code;
}

inline Code describePointer(const void* address, PointerInfo* info) {
  hipPointerAttribute_t attributes{};
  const Code code = hipPointerGetAttributes(&attributes, address);
  *info = {MemoryKind::kUnregisteredHost, -1};
  if (code == hipErrorInvalidValue) return kSuccess;  // how older HIP answers for memory it does not know
  if (code != kSuccess) return code;
#if HIP_VERSION_MAJOR >= 6
  const hipMemoryType type = attributes.type;
#else
  const hipMemoryType type = attributes.memoryType;
#endif
  if (attributes.isManaged != 0) {
    *info = {MemoryKind::kManaged, attributes.device};
  } else if (type == hipMemoryTypeDevice) {
    *info = {MemoryKind::kDevice, attributes.device};
  } else if (type == hipMemoryTypeHost) {
    *info = {MemoryKind::kPinnedHost, attributes.device};
  }
  return code;
}

}  // namespace rondo::runtime::vendor
