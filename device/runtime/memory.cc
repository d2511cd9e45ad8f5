// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <cstring>
#include <utility>

#include "device/runtime/capture.h"
#include "device/runtime/runtime.h"
#include "device/runtime/vendor.h"
#include "src/base/error.h"

namespace rondo::runtime {
namespace {

size_t roundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void checkBytes(vendor::Code code, const char* call, size_t bytes) {
  if (code != vendor::kSuccess) check(code, fmt::format("{} ({} bytes)", call, bytes).c_str());
}

// A stream of its own for each: these are calls of setting up and tearing down, and a stream that was kept would not
// outlive a device reset by the program.
void copyAndWait(void* destination, const void* source, size_t bytes, const char* what) {
  if (bytes == 0) return;
  const RelaxedCapture relaxed;
  const OwnedStream stream;
  checkBytes(vendor::copyAsync(destination, source, bytes, stream.get()), what, bytes);
  stream.synchronize();
}

}  // namespace

DeviceMemory::DeviceMemory(size_t bytes, MemoryUse use) : bytes_(bytes), device_(currentDevice()) {
  if (bytes == 0) return;
  const RelaxedCapture relaxed;
  void* address = nullptr;
  switch (use) {
    case MemoryUse::kPrivate:
      checkBytes(vendor::allocateDevice(&address, bytes), "allocation of device memory", bytes);
      break;
    case MemoryUse::kShared:
      checkBytes(vendor::allocateDeviceShared(&address, roundUp(bytes, vendor::kShareUnitBytes)),
                 "allocation of shared device memory", bytes);
      break;
  }
  try {
    const OwnedStream stream;
    checkBytes(vendor::fillAsync(address, 0, bytes, stream.get()), "zeroing of device memory", bytes);
    stream.synchronize();
  } catch (...) {
    (void)vendor::freeDevice(address);
    throw;
  }
  data_ = static_cast<char*>(address);
}

DeviceMemory::~DeviceMemory() {
  if (data_ == nullptr) return;
  const RelaxedCapture relaxed;
  (void)vendor::freeDevice(data_);  // a failed device frees nothing, and a destructor cannot say so
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      device_(std::exchange(other.device_, -1)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  return *this;
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const RelaxedCapture relaxed;
  void* address = nullptr;
  checkBytes(vendor::allocatePinned(&address, bytes), "allocation of pinned host memory", bytes);
  std::memset(address, 0, bytes);
  data_ = static_cast<char*>(address);
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  const RelaxedCapture relaxed;
  (void)vendor::freePinned(data_);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryHandle exportMemory(const DeviceMemory& memory) {
  MemoryHandle handle{};
  check(vendor::getHandle(&handle, memory.data()), "handle for shared device memory");
  return handle;
}

ImportedMemory::ImportedMemory(const MemoryHandle& handle) {
  const RelaxedCapture relaxed;
  void* address = nullptr;
  check(vendor::openHandle(&address, handle), "opening another process's device memory");
  data_ = static_cast<char*>(address);
}

ImportedMemory::~ImportedMemory() {
  if (data_ == nullptr) return;
  const RelaxedCapture relaxed;
  (void)vendor::closeHandle(data_);
}

ImportedMemory::ImportedMemory(ImportedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

ImportedMemory& ImportedMemory::operator=(ImportedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}

void copyToDevice(void* destination, const void* source, size_t bytes) {
  copyAndWait(destination, source, bytes, "copy to the device");
}

void copyFromDevice(void* destination, const void* source, size_t bytes) {
  copyAndWait(destination, source, bytes, "copy from the device");
}

void copyOnDevice(void* destination, const void* source, size_t bytes, Stream stream) {
  if (bytes == 0) return;
  checkBytes(vendor::copyAsync(destination, source, bytes, stream), "copy on the device", bytes);
}

PointerInfo pointerInfo(const void* address) {
  PointerInfo info{MemoryKind::kUnregisteredHost, -1};
  check(vendor::describePointer(address, &info), "attributes of a pointer");
  return info;
}

}  // namespace rondo::runtime
