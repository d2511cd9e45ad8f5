// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Which provider FabricEndpoint uses, and what there is instead of a missing one.
#include <cstring>
#include <set>

#include "error.h"
#include "fabric_stream_endpoint.h"

namespace perf {
namespace {

constexpr uint32_t kVersion = FI_VERSION(1, 17);

}  // namespace

FabricEndpoint::Info FabricEndpoint::makeHints(const FabricNeeds& needs) {
  Info hints(fi_allocinfo());
  if (!hints) fail("fi_allocinfo: out of memory");
  hints->caps = FI_TAGGED | (needs.remote_write ? FI_RMA : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  // The process polls anyway; a provider's own threads would only take its core.
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->cq_data_size = needs.remote_write ? sizeof(uint32_t) : 0;
  hints->tx_attr->inject_size = needs.inject_bytes;
  if (!needs.provider.empty()) hints->fabric_attr->prov_name = strdup(needs.provider.c_str());
  return hints;
}

FabricEndpoint::Info FabricEndpoint::findProvider(const FabricNeeds& needs) {
  const Info hints = makeHints(needs);
  fi_info* found = nullptr;
  if (fi_getinfo(kVersion, nullptr, nullptr, 0, hints.get(), &found) != 0) failMissing(needs);
  Info info(found);
  const bool is_ip =
      info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN || info->addr_format == FI_SOCKADDR_IN6;
  if (needs.host.empty() || !is_ip) return info;
  const int result = fi_getinfo(kVersion, needs.host.c_str(), nullptr, FI_SOURCE, hints.get(), &found);
  if (result != 0) fail("{}: no endpoint at {}: {}", needs.provider, needs.host, fi_strerror(-result));
  return Info(found);
}

void FabricEndpoint::failMissing(const FabricNeeds& needs) {
  FabricNeeds any = needs;
  any.provider.clear();
  fi_info* found = nullptr;
  std::set<std::string> names;
  if (fi_getinfo(kVersion, nullptr, nullptr, 0, makeHints(any).get(), &found) == 0) {
    const Info all(found);
    for (const fi_info* each = found; each; each = each->next) names.insert(each->fabric_attr->prov_name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  failUsage("--provider {}: libfabric has no such provider with tagged messages{}; there are: {}", needs.provider,
            needs.remote_write ? " and remote writes" : "", list.empty() ? "none" : list);
}

}  // namespace perf
