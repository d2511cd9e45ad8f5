// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/topology/placement.h"

#include <hwloc.h>

#include <cerrno>
#include <memory>
#include <string>

#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo {

namespace {

struct BitmapFree {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

Bitmap makeBitmap() {
  Bitmap bitmap(hwloc_bitmap_alloc());
  if (!bitmap) throw std::bad_alloc();
  return bitmap;
}

// nullptr if hwloc cannot tell.
hwloc_topology_t loadTopology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    log::info(log::kInit, "no topology of this host: {}; devices count as near all cores", errnoText(errno));
    return nullptr;
  }
  // Cores that this container may not use are part of it, so that all processes of the host see the same packages.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // All PCI devices, as no class is common to all accelerators; nothing that only takes time to look up. Operating
  // system devices stay out as by default: hwloc would start OpenCL and X11 to find them.
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) {
    log::info(log::kInit, "no topology of this host: {}; devices count as near all cores", errnoText(errno));
    hwloc_topology_destroy(topology);
    return nullptr;
  }
  return topology;
}

hwloc_topology_t topologyOfHost() {
  static hwloc_topology_t topology = loadTopology();  // never destroyed: threads of the library may outlive main
  return topology;
}

// A rank's device may be any function of the PCI device: the vendors do not tell which.
hwloc_obj_t findDevice(hwloc_topology_t topology, uint64_t busId) {
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_pcidev(topology, object)) != nullptr;) {
    const auto& pci = object->attr->pcidev;
    const uint64_t id = (uint64_t{pci.domain} << 16) | (uint64_t{pci.bus} << 8) | pci.dev;
    if (id == busId) return object;
  }
  return nullptr;
}

uint32_t numberOf(hwloc_obj_t object) {
  return object->os_index != HWLOC_UNKNOWN_INDEX ? object->os_index : object->logical_index;
}

hwloc_obj_t packageOf(hwloc_topology_t topology, hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PACKAGE) return object;
  return hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
}

}  // namespace

Placement placeDevice(uint64_t busId, bool isEmulated) {
  Placement placement;
  if (isEmulated) return placement;
  const hwloc_topology_t topology = topologyOfHost();
  if (topology == nullptr) return placement;
  const hwloc_obj_t device = findDevice(topology, busId);
  if (device == nullptr) return placement;
  // The smallest part of the machine that is near: a NUMA node, a package, or all of it.
  const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
  if (near == nullptr || near->type == HWLOC_OBJ_MACHINE) return placement;
  if (const hwloc_obj_t package = packageOf(topology, near)) placement.package = numberOf(package);
  if (const int node = hwloc_bitmap_first(near->nodeset); node >= 0) placement.numaNode = static_cast<uint32_t>(node);
  for (int core = hwloc_bitmap_first(near->cpuset); core >= 0; core = hwloc_bitmap_next(near->cpuset, core))
    placement.cores.push_back(static_cast<uint32_t>(core));
  return placement;
}

Location locate(uint64_t busId, bool isEmulated) {
  const Placement placement = placeDevice(busId, isEmulated);
  return {hostIdentity(), busId, placement.package, placement.numaNode};
}

void bindThreadNear(const Placement& placement, ProcessBinding binding) {
  if (placement.cores.empty()) return;
  const hwloc_topology_t topology = topologyOfHost();
  if (topology == nullptr) return;
  const Bitmap cores = makeBitmap();
  for (const uint32_t core : placement.cores) hwloc_bitmap_set(cores.get(), core);
  hwloc_bitmap_and(cores.get(), cores.get(), hwloc_topology_get_allowed_cpuset(topology));
  if (binding == ProcessBinding::kRespect) {
    // Of all threads, not of this one: it inherits its creator's binding, which OpenMP may have narrowed to one core.
    const Bitmap process = makeBitmap();
    if (hwloc_get_cpubind(topology, process.get(), HWLOC_CPUBIND_PROCESS) != 0) return;
    hwloc_bitmap_and(cores.get(), cores.get(), process.get());
  }
  if (hwloc_bitmap_iszero(cores.get())) return;
  char list[256];
  hwloc_bitmap_list_snprintf(list, sizeof list, cores.get());
  if (hwloc_set_cpubind(topology, cores.get(), HWLOC_CPUBIND_THREAD) != 0) {
    log::info(log::kProxy, "thread not bound to cores {}: {}", list, errnoText(errno));
    return;
  }
  log::info(log::kProxy, "thread bound to cores {} (package {}, NUMA node {})", list, placement.package,
            placement.numaNode);
}

}  // namespace rondo
