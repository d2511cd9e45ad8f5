// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/address.h"

#include "device/emu/device.h"
#include "device/emu/host_memory.h"
#include "device/emu/ipc.h"

namespace rondo::emu {

AddressInfo describeAddress(const void* address) {
  for (Device* used : devicesInUse()) {
    if (!used->arena().contains(address)) continue;
    const std::optional<Allocation> allocation = used->arena().find(address);
    if (!allocation) return {Place::kDead, used->index(), nullptr, 0, 0};
    const Place place = allocation->kind == AllocationKind::kManaged ? Place::kManaged : Place::kDevice;
    return {place, used->index(), allocation->base, allocation->bytes, 0};
  }
  if (const auto import = findImport(address))
    return {Place::kImported, import->device, import->base, import->bytes, 0};
  if (const auto host = findHost(address)) return {Place::kPinned, host->device, host->base, host->bytes, host->flags};
  return {};
}

}  // namespace rondo::emu
