// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One reliable endpoint of a libfabric provider, connected to one partner, with its completion queue. It assumes
// nothing of the provider beyond what fi_getinfo reports. Owned and used by the process's main thread.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace perf {

struct FabricClose {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using FabricObject = std::unique_ptr<Object, FabricClose>;

// Memory that the provider may reach; where the partner finds it for remote writes.
struct FabricRegion {
  FabricObject<fid_mr> registration;
  void* description = nullptr;
  uint64_t remote_base = 0;
  uint64_t key = 0;
};

struct FabricNeeds {
  std::string provider;
  bool remote_write = false;
  size_t inject_bytes = 0;
  std::string host;  // this side's address where the provider uses IP addresses; empty: any
  uint64_t max_message_bytes = 0;
  size_t completions = 0;  // that may wait in the queue
};

class FabricEndpoint {
 public:
  // Throws UsageError when there is no such provider, and lists those there are.
  explicit FabricEndpoint(const FabricNeeds& needs);

  std::string provider() const { return info_->fabric_attr->prov_name; }
  // This endpoint's address, in the provider's own form.
  std::string name();
  void connect(const std::string& partner_name);
  FabricRegion registerMemory(void* memory, size_t bytes);

  // Each starts one operation; false: the provider cannot take it now, poll and try again. `context` comes back with
  // the completion and must stay until then.
  bool sendTagged(const void* from, size_t bytes, void* description, uint64_t tag, void* context);
  bool receiveTagged(void* to, size_t bytes, void* description, uint64_t tag, void* context);
  bool write(const void* from, size_t bytes, void* description, uint64_t remote, uint64_t key, uint32_t data,
             void* context);
  // Of at most inject_bytes; completes at once.
  bool inject(const void* from, size_t bytes, uint64_t tag);

  // Finished operations, also remote writes of the partner; makes the provider move on. Throws Failure with the
  // provider's text for an operation that failed.
  std::span<const fi_cq_tagged_entry> poll();

 private:
  struct FreeInfo {
    void operator()(fi_info* info) const { fi_freeinfo(info); }
  };
  using Info = std::unique_ptr<fi_info, FreeInfo>;

  static Info makeHints(const FabricNeeds& needs);
  static Info findProvider(const FabricNeeds& needs);
  [[noreturn]] static void failMissing(const FabricNeeds& needs);
  void open(const FabricNeeds& needs);
  bool accepted(ssize_t result, const char* call) const;
  void check(int result, const char* call) const;
  void failCompletion();

  // Closed in the opposite order.
  Info info_;
  FabricObject<fid_fabric> fabric_;
  FabricObject<fid_domain> domain_;
  FabricObject<fid_cq> queue_;
  FabricObject<fid_av> addresses_;
  FabricObject<fid_ep> endpoint_;
  fi_addr_t partner_ = FI_ADDR_UNSPEC;
  uint64_t next_key_ = 1;
  std::vector<fi_cq_tagged_entry> entries_;
};

}  // namespace perf
