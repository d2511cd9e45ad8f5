// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/libfabric/providers.h"

#include <arpa/inet.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "transport/fabric/libfabric/shm_files.h"

namespace rondo::fabric {
namespace {

constexpr uint32_t kApi = FI_VERSION(1, 14);
constexpr const char* kShm = "shm";
constexpr uint64_t kTaggedCaps = FI_TAGGED;
constexpr uint64_t kWriteCaps = FI_TAGGED | FI_RMA;  // credits are tagged messages in any case
constexpr size_t kLeastCqData = 4;

// Best first: fabrics of their own, then layers over kernel sockets. Others come last: somebody has to want them.
constexpr const char* kNetworks[] = {"cxi", "efa", "verbs;ofi_rxm", "tcp;ofi_rxm", "net", "sockets"};
// Not reliable enough for work, or another form of one above.
constexpr const char* kNever[] = {"udp;ofi_rxd", "net;ofi_rxm", "shm;ofi_rxd", "UDP"};

size_t rankOf(const std::string& provider) {
  const auto* found = std::find(std::begin(kNetworks), std::end(kNetworks), provider);
  return static_cast<size_t>(found - std::begin(kNetworks));
}

Info makeHints(const char* provider, uint64_t caps) {
  Info hints(fi_allocinfo());
  if (!hints) fail(ncclSystemError, "out of memory");
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // one thread at a time
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  if (provider != nullptr) hints->fabric_attr->prov_name = strdup(provider);  // freed with the hints
  return hints;
}

Info getInfo(const fi_info* hints, int* result = nullptr) {
  fi_info* list = nullptr;
  const int code = fi_getinfo(kApi, nullptr, nullptr, 0, hints, &list);
  if (result != nullptr) *result = code;
  return Info(code == 0 ? list : nullptr);
}

std::string sourceOf(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = {};
  if (info.src_addr == nullptr) return {};
  if (info.addr_format == FI_SOCKADDR_IN)
    inet_ntop(AF_INET, &static_cast<sockaddr_in*>(info.src_addr)->sin_addr, text, sizeof(text));
  if (info.addr_format == FI_SOCKADDR_IN6)
    inet_ntop(AF_INET6, &static_cast<sockaddr_in6*>(info.src_addr)->sin6_addr, text, sizeof(text));
  return text;
}

bool canWrite(const fi_info& info) { return info.domain_attr->cq_data_size >= kLeastCqData; }

// The entry at the wanted address, else the first.
Info select(Info list, const std::string& source) {
  const fi_info* best = list.get();
  for (const fi_info* info = list.get(); info != nullptr && !source.empty(); info = info->next) {
    if (sourceOf(*info) != source) continue;
    best = info;
    break;
  }
  Info copy(fi_dupinfo(best));
  if (!copy) fail(ncclSystemError, "out of memory");
  return copy;
}

}  // namespace

Providers findProviders(bool allowShm) {
  int result = 0;
  const Info hints = makeHints(nullptr, kTaggedCaps);
  const Info list = getInfo(hints.get(), &result);
  const char* wanted = getenv("FI_PROVIDER");
  if (!list) {
    const bool shm = wanted != nullptr && std::strstr(wanted, kShm) != nullptr;
    fail(ncclSystemError, "libfabric offers no provider of reliable datagrams with tagged messages{}{}: {}{}{}",
         wanted != nullptr ? " for FI_PROVIDER=" : "", wanted != nullptr ? wanted : "", fi_strerror(-result),
         shm ? "; " : "", shm ? describeShmRoom() : "");
  }
  std::vector<std::string> names;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    const std::string name = info->fabric_attr->prov_name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  Providers providers{};
  std::string seen;
  for (const std::string& name : names) seen += (seen.empty() ? "" : ", ") + name;
  strncpy(providers.seen, seen.c_str(), sizeof(providers.seen) - 1);
  if (allowShm && std::find(names.begin(), names.end(), kShm) != names.end())
    strncpy(providers.local, kShm, sizeof(providers.local) - 1);
  std::erase_if(names, [](const std::string& name) {
    return name == kShm || name.size() >= sizeof(Providers::network) ||
           std::find(std::begin(kNever), std::end(kNever), name) != std::end(kNever);
  });
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return rankOf(a) < rankOf(b); });
  if (!names.empty()) strncpy(providers.network, names.front().c_str(), sizeof(providers.network) - 1);
  return providers;
}

Choice chooseInfo(const OpenRequest& request, const std::string& shmName) {
  int result = 0;
  // Messages can land in users' buffers where no memory has to be registered; otherwise writes save the matching.
  const bool messagesFirst = request.hostBuffers && request.operation == 0;
  enum class Way { kFreeMessages, kWrites, kMessages };
  for (const Way way : {Way::kFreeMessages, Way::kWrites, Way::kMessages}) {
    const bool writes = way == Way::kWrites;
    if (way == Way::kFreeMessages && !messagesFirst) continue;
    if (writes && request.operation == 1) continue;
    if (!writes && request.operation == 2) continue;
    const Info hints = makeHints(request.provider, writes ? kWriteCaps : kTaggedCaps);
    if (std::strcmp(request.provider, kShm) == 0) {
      const std::string uri = "fi_shm://" + shmName;
      hints->addr_format = FI_ADDR_STR;
      hints->src_addr = strdup(uri.c_str());  // freed with the hints
      hints->src_addrlen = uri.size() + 1;
    }
    Info list = getInfo(hints.get(), &result);
    if (!list || (writes && !canWrite(*list))) continue;
    if (way == Way::kFreeMessages && (list->domain_attr->mr_mode & FI_MR_LOCAL) != 0) continue;
    Choice choice{select(std::move(list), request.sourceAddress), writes};
    if (request.sendQueue != 0) choice.info->tx_attr->size = request.sendQueue;
    if (request.receiveQueue != 0) choice.info->rx_attr->size = request.receiveQueue;
    return choice;
  }
  if (std::strcmp(request.provider, kShm) == 0 && result == -FI_ENODATA)
    fail(ncclSystemError, "fi_getinfo: {} ({}); {}", fi_strerror(-result), kShm, describeShmRoom());
  failFabric(request.operation == 2 ? "fi_getinfo for remote writes with data" : "fi_getinfo", result, request.provider);
}

}  // namespace rondo::fabric
