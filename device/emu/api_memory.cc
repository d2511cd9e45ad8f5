// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exported functions about memory and copies.
#include <cuda_runtime.h>

#include <chrono>
#include <thread>

#include "device/emu/address.h"
#include "device/emu/api_call.h"
#include "device/emu/copy.h"
#include "device/emu/deferred_free.h"
#include "device/emu/device.h"
#include "device/emu/handles.h"
#include "device/emu/host_memory.h"
#include "device/emu/ipc.h"
#include "device/emu/memory_budget.h"
#include "device/emu/options.h"

namespace {

using namespace rondo::emu;

constexpr auto kPatience = std::chrono::seconds(2);

// Retries an allocation while memory that was freed early (deferred_free.h) is still to come, for a while.
template <class Allocate>
void* allocatePatiently(Allocate allocate) {
  releaseFinished();
  void* memory = allocate();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (memory == nullptr && std::chrono::steady_clock::now() < deadline) {
    const bool last = releaseFinished();
    memory = allocate();
    if (last) break;
    if (memory == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return memory;
}

cudaError_t outOfMemory(size_t bytes) {
  return failCall(cudaErrorMemoryAllocation, "%zu bytes asked for, %zu available", bytes,
                  MemoryBudget::instance().available(touchedBytesOfAllDevices));
}

cudaError_t allocateOn(Device& home, AllocationKind kind, void** address, size_t bytes) {
  if (address == nullptr) return cudaErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  *address = allocatePatiently([&] { return home.arena().allocate(bytes, kind); });
  return *address != nullptr ? cudaSuccess : outOfMemory(bytes);
}

cudaError_t allocatePinned(void** address, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (address == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  *address = allocatePatiently([&] { return allocateHost(bytes, flags); });
  return *address != nullptr ? cudaSuccess : outOfMemory(bytes);
}

// The device whose live allocation starts at the address, now retired; nullptr: none.
Device* retireAllocation(void* address) {
  for (Device* used : devicesInUse()) {
    if (used->arena().retire(address)) return used;
  }
  return nullptr;
}

cudaError_t notAllocated(const void* address) {
  return failCall(cudaErrorInvalidValue, "%p is not the start of an allocation of device memory", address);
}

cudaError_t checkPeers(int first, int second) {
  for (const int index : {first, second}) {
    if (index < 0 || index >= options().devices) return cudaErrorInvalidDevice;
  }
  return cudaSuccess;
}

void describe(const void* address, cudaPointerAttributes& attributes) {
  const AddressInfo info = describeAddress(address);
  auto* pointer = const_cast<void*>(address);
  attributes = {cudaMemoryTypeUnregistered, -1, nullptr, pointer, 0, 0};
  switch (info.place) {
    case Place::kUnknown:
    case Place::kDead:
      return;
    case Place::kDevice:
    case Place::kImported:
      attributes = {cudaMemoryTypeDevice, info.device, pointer, nullptr, 0, 0};
      return;
    case Place::kManaged:
      attributes = {cudaMemoryTypeManaged, info.device, pointer, pointer, 1, 0};
      return;
    case Place::kPinned:
      attributes = {cudaMemoryTypeHost, info.device, pointer, pointer, 0, info.flags};
      return;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return deviceCall([&] { return allocateOn(device(currentDevice()), AllocationKind::kDevice, devPtr, size); });
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return deviceCall([&] {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    if (size == 0) return cudaErrorInvalidValue;
    return allocateOn(device(currentDevice()), AllocationKind::kManaged, devPtr, size);
  });
}

cudaError_t cudaFree(void* devPtr) {
  return deviceCall([&] {
    if (devPtr == nullptr) return cudaSuccess;
    releaseFinished();
    Device* owner = retireAllocation(devPtr);
    if (owner == nullptr) return notAllocated(devPtr);
    releaseWhenIdle([owner, devPtr] { owner->arena().release(devPtr); });
    return cudaSuccess;
  });
}

// The memory is there at once, which is earlier than the stream's order asks for.
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t handle) {
  return deviceCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return allocateOn(stream->device(), AllocationKind::kDevice, devPtr, size);
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t handle) {
  return deviceCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (devPtr == nullptr) return cudaSuccess;
    Device* owner = retireAllocation(devPtr);
    if (owner == nullptr) return notAllocated(devPtr);
    stream->device().submit(
        stream, [owner, devPtr] { owner->arena().release(devPtr); }, TaskKind::kOrder);
    return cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return deviceCall([&] { return allocatePinned(ptr, size, cudaHostAllocDefault); });
}

cudaError_t cudaHostAlloc(void** ptr, size_t size, unsigned int flags) {
  return deviceCall([&] { return allocatePinned(ptr, size, flags); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return deviceCall([&] {
    if (ptr == nullptr) return cudaSuccess;
    releaseFinished();
    const cudaError_t code = freeHost(ptr);
    return code == cudaSuccess ? code : failCall(code, "%p is not the start of allocated pinned memory", ptr);
  });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return deviceCall([&] {
    if (describeAddress(ptr).onDevice()) return failCall(cudaErrorInvalidValue, "%p is device memory", ptr);
    return registerHost(ptr, size, flags);
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return deviceCall([&] { return unregisterHost(ptr); });
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  return deviceCall([&] {
    if (pDevice == nullptr || flags != 0) return cudaErrorInvalidValue;
    const Place place = describeAddress(pHost).place;
    if (place != Place::kPinned && place != Place::kManaged) {
      return failCall(cudaErrorInvalidValue, "%p is not pinned host memory", pHost);
    }
    *pDevice = pHost;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  return deviceCall([&] {
    const AddressInfo info = describeAddress(pHost);
    if (pFlags == nullptr || info.place != Place::kPinned) return cudaErrorInvalidValue;
    *pFlags = info.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return deviceCall([&] {
    if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
    releaseFinished();
    *free = MemoryBudget::instance().available(touchedBytesOfAllDevices);
    *total = totalMemoryBytes();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return apiCall([&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    describe(ptr, *attributes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return deviceCall([&] { return copyNow({dst, src, count, kind}); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t handle) {
  return deviceCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    return stream != nullptr ? copyOnStream({dst, src, count, kind}, stream) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  return deviceCall([&] {
    const cudaError_t code = checkPeers(dstDevice, srcDevice);
    return code == cudaSuccess ? copyNow({dst, src, count, cudaMemcpyDeviceToDevice}) : code;
  });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                cudaStream_t handle) {
  return deviceCall([&] {
    const cudaError_t code = checkPeers(dstDevice, srcDevice);
    if (code != cudaSuccess) return code;
    const std::shared_ptr<Stream> stream = findStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return copyOnStream({dst, src, count, cudaMemcpyDeviceToDevice}, stream);
  });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return deviceCall([&] { return fillNow({devPtr, value, count}); });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t handle) {
  return deviceCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    return stream != nullptr ? fillOnStream({devPtr, value, count}, stream) : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
  return deviceCall([&] { return handle != nullptr ? makeIpcHandle(devPtr, *handle) : cudaErrorInvalidValue; });
}

cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
  return deviceCall([&] {
    if (devPtr == nullptr || (flags & ~unsigned{cudaIpcMemLazyEnablePeerAccess}) != 0) return cudaErrorInvalidValue;
    releaseFinished();
    return openIpcHandle(handle, *devPtr);
  });
}

cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return deviceCall([&] {
    releaseFinished();
    return closeIpcHandle(devPtr);
  });
}

}  // extern "C"
