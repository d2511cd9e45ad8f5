// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exported functions about devices.
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "device/emu/api_call.h"
#include "device/emu/deferred_free.h"
#include "device/emu/device.h"
#include "device/emu/handles.h"
#include "device/emu/memory_budget.h"
#include "device/emu/options.h"

namespace {

using rondo::emu::apiCall;
using rondo::emu::deviceCall;
using rondo::emu::failCall;
using rondo::emu::options;

constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kSharedBytesPerBlock = 64 * 1024;
constexpr int kComputeMajor = 9;

cudaError_t checkDevice(int device) {
  if (device >= 0 && device < options().devices) return cudaSuccess;
  return failCall(cudaErrorInvalidDevice, "device %d: must be 0 to %d", device, options().devices - 1);
}

void fillProperties(cudaDeviceProp& properties, int device) {
  properties = {};
  std::snprintf(properties.name, sizeof properties.name, "Rondo emulated device (%d lanes)", options().wave);
  std::snprintf(properties.gcnArchName, sizeof properties.gcnArchName, "emu");
  properties.totalGlobalMem = rondo::emu::totalMemoryBytes();
  properties.sharedMemPerBlock = kSharedBytesPerBlock;
  properties.sharedMemPerMultiprocessor = kSharedBytesPerBlock;
  properties.regsPerBlock = 65536;
  properties.warpSize = options().wave;
  properties.maxThreadsPerBlock = kMaxThreadsPerBlock;
  properties.maxThreadsPerMultiProcessor = kMaxThreadsPerBlock;
  properties.maxBlocksPerMultiProcessor = 1;
  for (int& limit : properties.maxThreadsDim) limit = 1;
  properties.maxThreadsDim[0] = kMaxThreadsPerBlock;
  for (int& limit : properties.maxGridSize) limit = 1;
  properties.maxGridSize[0] = options().blocks;
  properties.major = kComputeMajor;
  properties.multiProcessorCount = options().blocks;
  properties.pciDomainID = device >> 16;
  properties.pciBusID = (device >> 8) & 0xff;
  properties.pciDeviceID = device & 0xff;
  for (int* yes : {&properties.integrated, &properties.canMapHostMemory, &properties.concurrentKernels,
                   &properties.unifiedAddressing, &properties.managedMemory, &properties.hostNativeAtomicSupported,
                   &properties.concurrentManagedAccess, &properties.canUseHostPointerForRegisteredMem,
                   &properties.cooperativeLaunch, &properties.directManagedMemAccessFromHost,
                   &properties.hostRegisterSupported, &properties.memoryPoolsSupported}) {
    *yes = 1;
  }
}

struct AttributeField {
  cudaDeviceAttr attribute;
  int cudaDeviceProp::*field;
};

constexpr AttributeField kAttributeFields[] = {
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrIntegrated, &cudaDeviceProp::integrated},
    {cudaDevAttrCanMapHostMemory, &cudaDeviceProp::canMapHostMemory},
    {cudaDevAttrConcurrentKernels, &cudaDeviceProp::concurrentKernels},
    {cudaDevAttrPciBusId, &cudaDeviceProp::pciBusID},
    {cudaDevAttrPciDeviceId, &cudaDeviceProp::pciDeviceID},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrPciDomainId, &cudaDeviceProp::pciDomainID},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrHostNativeAtomicSupported, &cudaDeviceProp::hostNativeAtomicSupported},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {cudaDevAttrCooperativeLaunch, &cudaDeviceProp::cooperativeLaunch},
    {cudaDevAttrHostRegisterSupported, &cudaDeviceProp::hostRegisterSupported},
    {cudaDevAttrDirectManagedMemAccessFromHost, &cudaDeviceProp::directManagedMemAccessFromHost},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrMemoryPoolsSupported, &cudaDeviceProp::memoryPoolsSupported},
    {cudaDevAttrGPUDirectRDMASupported, &cudaDeviceProp::gpuDirectRDMASupported},
};

cudaError_t readAttribute(const cudaDeviceProp& properties, cudaDeviceAttr attribute, int& value) {
  for (const AttributeField& entry : kAttributeFields) {
    if (entry.attribute != attribute) continue;
    value = properties.*entry.field;
    return cudaSuccess;
  }
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlock) return value = kSharedBytesPerBlock, cudaSuccess;
  if (attribute == cudaDevAttrCanFlushRemoteWrites || attribute == cudaDevAttrIpcEventSupport)
    return value = 0, cudaSuccess;
  return failCall(cudaErrorInvalidValue, "the emulated device has no attribute %d", static_cast<int>(attribute));
}

// Which (device, peer) pairs were enabled: all memory is reachable anyway, but a program may ask twice to be told.
struct PeerTable {
  std::mutex mutex;  // protects enabled; a leaf lock
  std::set<std::pair<int, int>> enabled;
};

PeerTable& peers() {
  static auto* table = new PeerTable;  // never destroyed: threads may still call at exit
  return *table;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return apiCall([&] {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = options().devices;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return apiCall([&] {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = rondo::emu::currentDevice();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return apiCall([&] {
    const cudaError_t code = checkDevice(device);
    if (code == cudaSuccess) rondo::emu::setCurrentDevice(device);
    return code;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return apiCall([&] { return (flags & ~0xffu) == 0 ? cudaSuccess : cudaErrorInvalidValue; });  // waits always sleep
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return apiCall([&] {
    if (prop == nullptr) return cudaErrorInvalidValue;
    const cudaError_t code = checkDevice(device);
    if (code == cudaSuccess) fillProperties(*prop, device);
    return code;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return apiCall([&] {
    if (value == nullptr) return cudaErrorInvalidValue;
    const cudaError_t code = checkDevice(device);
    if (code != cudaSuccess) return code;
    cudaDeviceProp properties;
    fillProperties(properties, device);
    return readAttribute(properties, attr, *value);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return apiCall([&] {
    if (pciBusId == nullptr || len < 1) return cudaErrorInvalidValue;
    const cudaError_t code = checkDevice(device);
    if (code != cudaSuccess) return code;
    const int length = std::snprintf(pciBusId, static_cast<size_t>(len), "%04X:%02X:%02X.0", device >> 16,
                                     (device >> 8) & 0xff, device & 0xff);
    return length < len ? cudaSuccess : failCall(cudaErrorInvalidValue, "%d bytes are needed, not %d", length + 1, len);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  return apiCall([&] {
    if (device == nullptr || pciBusId == nullptr) return cudaErrorInvalidValue;
    unsigned domain = 0, bus = 0, number = 0;
    if (std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &number) != 3 || domain > 0x7fff || bus > 0xff ||
        number > 0xff) {
      return failCall(cudaErrorInvalidValue, "%.32s: not of the form domain:bus:device", pciBusId);
    }
    const int found = static_cast<int>((domain << 16) | (bus << 8) | number);
    const cudaError_t code = checkDevice(found);
    if (code == cudaSuccess) *device = found;
    return code;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return apiCall([&] {
    if (leastPriority != nullptr) *leastPriority = 0;
    if (greatestPriority != nullptr) *greatestPriority = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return apiCall([] {
    rondo::emu::Device& device = rondo::emu::device(rondo::emu::currentDevice());
    for (const rondo::emu::StreamPoint& point : device.pendingOfAll()) point.wait();
    return device.failure();
  });
}

// The device's streams, events and memory are gone afterwards, and its failure.
cudaError_t cudaDeviceReset(void) {
  return apiCall([] {
    rondo::emu::Device& device = rondo::emu::device(rondo::emu::currentDevice());
    for (const rondo::emu::StreamPoint& point : device.pendingOfAll()) point.wait();
    rondo::emu::removeHandlesOf(device);
    rondo::emu::releaseFinished();
    device.arena().releaseAll();
    device.clearFailure();
    rondo::emu::clearLastError();
    std::lock_guard lock(peers().mutex);
    std::erase_if(peers().enabled, [&](const auto& pair) { return pair.first == device.index(); });
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return apiCall([&] {
    if (canAccessPeer == nullptr) return cudaErrorInvalidValue;
    cudaError_t code = checkDevice(device);
    if (code == cudaSuccess) code = checkDevice(peerDevice);
    if (code == cudaSuccess) *canAccessPeer = device != peerDevice ? 1 : 0;
    return code;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  return deviceCall([&] {
    if (flags != 0) return failCall(cudaErrorInvalidValue, "flags %#x: must be 0", flags);
    const cudaError_t code = checkDevice(peerDevice);
    if (code != cudaSuccess) return code;
    const int device = rondo::emu::currentDevice();
    if (peerDevice == device) return failCall(cudaErrorInvalidDevice, "device %d is not its own peer", device);
    std::lock_guard lock(peers().mutex);
    return peers().enabled.emplace(device, peerDevice).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  return deviceCall([&] {
    const cudaError_t code = checkDevice(peerDevice);
    if (code != cudaSuccess) return code;
    std::lock_guard lock(peers().mutex);
    return peers().enabled.erase({rondo::emu::currentDevice(), peerDevice}) == 1 ? cudaSuccess
                                                                                 : cudaErrorPeerAccessNotEnabled;
  });
}

}  // extern "C"
