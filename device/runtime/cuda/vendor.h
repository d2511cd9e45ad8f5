// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The vendor layer for CUDA, and for the emulated device, whose cuda_runtime.h it is compiled over.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

#include "device/runtime/runtime.h"

namespace rondo::runtime::vendor {

using Code = cudaError_t;
using EventHandle = cudaEvent_t;
using Properties = cudaDeviceProp;
using CaptureMode = cudaStreamCaptureMode;

constexpr Code kSuccess = cudaSuccess;
constexpr Code kNotReady = cudaErrorNotReady;
constexpr Code kPeerAlreadyEnabled = cudaErrorPeerAccessAlreadyEnabled;
constexpr CaptureMode kRelaxedCapture = cudaStreamCaptureModeRelaxed;

// Memory that other processes open is mapped there in units of this size: whatever else lay in the unit would be open
// to them as well.
constexpr size_t kShareUnitBytes = size_t{2} << 20;

inline const char* errorText(Code code) {
  return cudaGetErrorString(code);
}
inline Code clearLastError() {
  return cudaGetLastError();
}
// What the vendor can say beyond the code's text about this thread's latest call; may be "".
inline const char* errorDetail() {
#if defined(RONDO_TARGET_EMU)
  return rondoEmuErrorDetail();
#else
  return "";
#endif
}

// See runtime::IdleHelp. On a GPU kernels need no threads of the host.
inline Code startHelp([[maybe_unused]] int (*help)(void*), [[maybe_unused]] void* argument) {
#if defined(RONDO_TARGET_EMU)
  return rondoEmuStartHelp(help, argument);
#else
  return cudaSuccess;
#endif
}
inline void stopHelp([[maybe_unused]] void* argument) {
#if defined(RONDO_TARGET_EMU)
  (void)rondoEmuStopHelp(argument);
#endif
}

inline Code getDeviceCount(int* count) {
  return cudaGetDeviceCount(count);
}
inline Code getDevice(int* device) {
  return cudaGetDevice(device);
}
inline Code setDevice(int device) {
  return cudaSetDevice(device);
}
inline Code getProperties(Properties* properties, int device) {
  return cudaGetDeviceProperties(properties, device);
}
inline Code enablePeerAccess(int peer) {
  return cudaDeviceEnablePeerAccess(peer, 0);
}

inline Code allocateDevice(void** address, size_t bytes) {
  return cudaMalloc(address, bytes);
}
// Coherent for other devices' and the NIC's writes while kernels read: all of CUDA's device memory is.
inline Code allocateDeviceShared(void** address, size_t bytes) {
  return cudaMalloc(address, bytes);
}
inline Code freeDevice(void* address) {
  return cudaFree(address);
}
inline Code allocatePinned(void** address, size_t bytes) {
  return cudaHostAlloc(address, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
}
inline Code freePinned(void* address) {
  return cudaFreeHost(address);
}

inline Code copyAsync(void* destination, const void* source, size_t bytes, Stream stream) {
  return cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream);
}
inline Code fillAsync(void* destination, int value, size_t bytes, Stream stream) {
  return cudaMemsetAsync(destination, value, bytes, stream);
}

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(MemoryHandle));
inline Code getHandle(MemoryHandle* handle, void* address) {
  cudaIpcMemHandle_t own;
  const Code code = cudaIpcGetMemHandle(&own, address);
  std::memcpy(handle, &own, sizeof own);
  return code;
}
inline Code openHandle(void** address, const MemoryHandle& handle) {
  cudaIpcMemHandle_t own;
  std::memcpy(&own, &handle, sizeof own);
  return cudaIpcOpenMemHandle(address, own, cudaIpcMemLazyEnablePeerAccess);
}
inline Code closeHandle(void* address) {
  return cudaIpcCloseMemHandle(address);
}

inline Code createStream(Stream* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
inline Code destroyStream(Stream stream) {
  return cudaStreamDestroy(stream);
}
inline Code synchronizeStream(Stream stream) {
  return cudaStreamSynchronize(stream);
}
inline Code waitEvent(Stream stream, EventHandle event) {
  return cudaStreamWaitEvent(stream, event, 0);
}

inline Code createEvent(EventHandle* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventBlockingSync);
}
inline Code destroyEvent(EventHandle event) {
  return cudaEventDestroy(event);
}
inline Code recordEvent(EventHandle event, Stream stream) {
  return cudaEventRecord(event, stream);
}
inline Code queryEvent(EventHandle event) {
  return cudaEventQuery(event);
}
inline Code synchronizeEvent(EventHandle event) {
  return cudaEventSynchronize(event);
}

inline Code exchangeCaptureMode(CaptureMode* mode) {
  return cudaThreadExchangeStreamCaptureMode(mode);
}
inline Code isCapturing(Stream stream, bool* capturing) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const Code code = cudaStreamIsCapturing(stream, &status);
  *capturing = status != cudaStreamCaptureStatusNone;
  return code;
}

inline Code describePointer(const void* address, PointerInfo* info) {
  cudaPointerAttributes attributes{};
  const Code code = cudaPointerGetAttributes(&attributes, address);
  if (code != kSuccess) return code;
  switch (attributes.type) {
    case cudaMemoryTypeUnregistered:
      *info = {MemoryKind::kUnregisteredHost, -1};
      break;
    case cudaMemoryTypeHost:
      *info = {MemoryKind::kPinnedHost, attributes.device};
      break;
    case cudaMemoryTypeDevice:
      *info = {MemoryKind::kDevice, attributes.device};
      break;
    case cudaMemoryTypeManaged:
      *info = {MemoryKind::kManaged, attributes.device};
      break;
  }
  return code;
}

}  // namespace rondo::runtime::vendor
