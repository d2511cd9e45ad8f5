// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Where a device sits inside its host, and threads bound to the cores near it. The one user of hwloc: the machine's
// topology is loaded at the first question about a PCI device (some milliseconds, once per process) and kept. Any
// thread. Nothing here fails: what cannot be found out (a container without sysfs, say) counts as package 0 with no
// cores near.
#pragma once

#include <cstdint>
#include <vector>

#include "src/topology/topology.h"

namespace rondo {

// All numbers are the system's own, so that processes in different containers of one host mean the same by them.
struct Placement {
  uint32_t package = 0;
  uint32_t numaNode = 0;
  std::vector<uint32_t> cores;  // logical processors near the device; empty: none is nearer than another
};

// busId as runtime::DeviceProperties has it: PCI domain << 16 | bus << 8 | device. Emulated devices lie nowhere: their
// memory is that of the whole host, their threads run where the system puts them, and ranks on them keep their order.
Placement placeDevice(uint64_t busId, bool isEmulated);

// What a rank tells the others about its device.
Location locate(uint64_t busId, bool isEmulated);

// Which cores a thread may be bound to: those that some thread of the process may use now (what taskset, mpirun or the
// batch system gave it), or all that the container allows (NCCL_IGNORE_CPU_AFFINITY=1).
enum class ProcessBinding { kRespect, kIgnore };

// Binds the calling thread to the placement's cores. Leaves it alone if there are none, or none that it may use.
void bindThreadNear(const Placement& placement, ProcessBinding binding);

}  // namespace rondo
