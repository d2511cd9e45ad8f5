// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/runtime/runtime.h"
#include "device/runtime/vendor.h"
#include "src/base/error.h"

namespace rondo::runtime {

void check(int code, const char* what) {
  const auto known = static_cast<vendor::Code>(code);
  if (known == vendor::kSuccess) return;
  const std::string detail = vendor::errorDetail();
  const std::string text = vendor::errorText(known);
  (void)vendor::clearLastError();  // reported here; the program's own next check must not find it
  if (detail.empty()) fail(ncclUnhandledCudaError, "{}: {}", what, text);
  fail(ncclUnhandledCudaError, "{}: {} ({})", what, text, detail);
}

int deviceCount() {
  int count = 0;
  check(vendor::getDeviceCount(&count), "device count");
  return count;
}

int currentDevice() {
  int device = 0;
  check(vendor::getDevice(&device), "current device");
  return device;
}

DeviceProperties deviceProperties(int device) {
  vendor::Properties properties{};
  check(vendor::getProperties(&properties, device), fmt::format("properties of device {}", device).c_str());
  DeviceProperties result{};
  result.waveSize = properties.warpSize;
  result.multiprocessors = properties.multiProcessorCount;
  result.residentBlocks = 1;
  result.busId = (static_cast<uint64_t>(static_cast<uint32_t>(properties.pciDomainID)) << 16) |
                 (static_cast<uint64_t>(properties.pciBusID & 0xff) << 8) |
                 static_cast<uint64_t>(properties.pciDeviceID & 0xff);
  result.name = properties.name;
  result.isEmulated = vendor::kIsEmulated;
  return result;
}

DeviceGuard::DeviceGuard(int device) : previous_(currentDevice()) {
  if (device != previous_) check(vendor::setDevice(device), fmt::format("choice of device {}", device).c_str());
}

DeviceGuard::~DeviceGuard() {
  (void)vendor::setDevice(previous_);
}

void enablePeerAccess(int peerDevice) {
  if (peerDevice == currentDevice()) return;
  const vendor::Code code = vendor::enablePeerAccess(peerDevice);
  if (code == vendor::kPeerAlreadyEnabled) {
    (void)vendor::clearLastError();
    return;
  }
  check(code, fmt::format("peer access from device {} to device {}", currentDevice(), peerDevice).c_str());
}

}  // namespace rondo::runtime
