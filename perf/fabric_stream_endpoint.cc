// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_endpoint.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>

#include "error.h"

namespace perf {
namespace {

constexpr size_t kEntriesPerPoll = 32;

template <class Object, class Open>
FabricObject<Object> openObject(const char* call, const std::string& provider, Open open) {
  Object* object = nullptr;
  const int result = open(&object);
  if (result != 0) fail("{}: {}: {}", provider, call, fi_strerror(-result));
  return FabricObject<Object>(object);
}

}  // namespace

FabricEndpoint::FabricEndpoint(const FabricNeeds& needs) : info_(findProvider(needs)), entries_(kEntriesPerPoll) {
  open(needs);
}

void FabricEndpoint::open(const FabricNeeds& needs) {
  const std::string name = provider();
  if (needs.max_message_bytes > info_->ep_attr->max_msg_size) {
    failUsage("--message {}: {} carries at most {} bytes in one operation", needs.max_message_bytes, name,
              info_->ep_attr->max_msg_size);
  }
  fabric_ = openObject<fid_fabric>("fi_fabric", name,
                                   [&](fid_fabric** out) { return fi_fabric(info_->fabric_attr, out, nullptr); });
  domain_ = openObject<fid_domain>(
      "fi_domain", name, [&](fid_domain** out) { return fi_domain(fabric_.get(), info_.get(), out, nullptr); });
  fi_cq_attr queue = {};
  queue.size = needs.completions;
  queue.format = FI_CQ_FORMAT_TAGGED;
  queue.wait_obj = FI_WAIT_NONE;
  queue_ = openObject<fid_cq>("fi_cq_open", name,
                              [&](fid_cq** out) { return fi_cq_open(domain_.get(), &queue, out, nullptr); });
  fi_av_attr addresses = {};
  addresses.count = 1;
  addresses_ = openObject<fid_av>("fi_av_open", name,
                                  [&](fid_av** out) { return fi_av_open(domain_.get(), &addresses, out, nullptr); });
  endpoint_ = openObject<fid_ep>("fi_endpoint", name,
                                 [&](fid_ep** out) { return fi_endpoint(domain_.get(), info_.get(), out, nullptr); });
  check(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_enable(endpoint_.get()), "fi_enable");
}

void FabricEndpoint::check(int result, const char* call) const {
  if (result != 0) fail("{}: {}: {}", provider(), call, fi_strerror(-result));
}

std::string FabricEndpoint::name() {
  size_t bytes = 0;
  const int result = fi_getname(&endpoint_->fid, nullptr, &bytes);
  if (result != -FI_ETOOSMALL) check(result, "fi_getname");
  std::string name(bytes, '\0');
  check(fi_getname(&endpoint_->fid, name.data(), &bytes), "fi_getname");
  return name;
}

void FabricEndpoint::connect(const std::string& partner_name) {
  const int inserted = fi_av_insert(addresses_.get(), partner_name.data(), 1, &partner_, 0, nullptr);
  if (inserted != 1) {
    fail("{}: fi_av_insert: {}", provider(), inserted < 0 ? fi_strerror(-inserted) : "the address was refused");
  }
}

FabricRegion FabricEndpoint::registerMemory(void* memory, size_t bytes) {
  const int mode = info_->domain_attr->mr_mode;
  const uint64_t access = FI_SEND | FI_RECV | (info_->caps & FI_RMA ? FI_WRITE | FI_REMOTE_WRITE : 0);
  FabricRegion region;
  region.registration = openObject<fid_mr>("fi_mr_reg", provider(), [&](fid_mr** out) {
    return fi_mr_reg(domain_.get(), memory, bytes, access, 0, next_key_++, 0, out, nullptr);
  });
  if (mode & FI_MR_ENDPOINT) {
    check(fi_mr_bind(region.registration.get(), &endpoint_->fid, 0), "fi_mr_bind");
    check(fi_mr_enable(region.registration.get()), "fi_mr_enable");
  }
  region.description = fi_mr_desc(region.registration.get());
  region.key = fi_mr_key(region.registration.get());
  region.remote_base = mode & FI_MR_VIRT_ADDR ? reinterpret_cast<uint64_t>(memory) : 0;
  return region;
}

bool FabricEndpoint::accepted(ssize_t result, const char* call) const {
  if (result == -FI_EAGAIN) return false;
  check(static_cast<int>(result), call);
  return true;
}

bool FabricEndpoint::sendTagged(const void* from, size_t bytes, void* description, uint64_t tag, void* context) {
  return accepted(fi_tsend(endpoint_.get(), from, bytes, description, partner_, tag, context), "fi_tsend");
}

bool FabricEndpoint::receiveTagged(void* to, size_t bytes, void* description, uint64_t tag, void* context) {
  return accepted(fi_trecv(endpoint_.get(), to, bytes, description, FI_ADDR_UNSPEC, tag, 0, context), "fi_trecv");
}

bool FabricEndpoint::write(const void* from, size_t bytes, void* description, uint64_t remote, uint64_t key,
                           uint32_t data, void* context) {
  return accepted(fi_writedata(endpoint_.get(), from, bytes, description, data, partner_, remote, key, context),
                  "fi_writedata");
}

bool FabricEndpoint::inject(const void* from, size_t bytes, uint64_t tag) {
  return accepted(fi_tinject(endpoint_.get(), from, bytes, partner_, tag), "fi_tinject");
}

std::span<const fi_cq_tagged_entry> FabricEndpoint::poll() {
  const ssize_t result = fi_cq_read(queue_.get(), entries_.data(), entries_.size());
  if (result > 0) return {entries_.data(), static_cast<size_t>(result)};
  if (result == -FI_EAVAIL) failCompletion();
  if (result < 0 && result != -FI_EAGAIN && result != -FI_EAVAIL) check(static_cast<int>(result), "fi_cq_read");
  return {};
}

void FabricEndpoint::failCompletion() {
  fi_cq_err_entry error = {};
  const ssize_t result = fi_cq_readerr(queue_.get(), &error, 0);
  if (result == -FI_EAGAIN) return;  // the entry is not there yet: the next poll finds it
  if (result < 0) check(static_cast<int>(result), "fi_cq_readerr");
  const char* text = fi_cq_strerror(queue_.get(), error.prov_errno, error.err_data, nullptr, 0);
  fail("{}: an operation failed: {} ({})", provider(), fi_strerror(error.err), text ? text : "no further text");
}

}  // namespace perf
