// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/libfabric/fabric_endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "transport/fabric/libfabric/shm_files.h"

namespace rondo::fabric {
namespace {

// Tags of messages and data of writes: they fit the 32 bits that every provider has.
constexpr uint64_t kCreditTag = uint64_t{1} << 31;
constexpr uint64_t slotTag(const SlotRange& slot) { return slot.channel << 8 | slot.slot; }

constexpr size_t kCreditMessages = 16;
constexpr uint64_t kMemoryKey = 1;
constexpr uint64_t kCreditKey = 2;

std::string lockedMemoryLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

}  // namespace

FabricEndpoint::FabricEndpoint(const OpenRequest& request)
    : role_(request.role),
      depth_(request.depth),
      memory_(request.memory),
      provider_(request.provider),
      shmFile_(newShmName()),
      slots_(size_t{request.channels} * request.depth) {
  removeStaleShmFiles();
  Choice choice = chooseInfo(request, shmFile_);
  info_ = std::move(choice.info);
  writes_ = choice.writes;
  text_ = provider_ + (writes_ ? " (write)" : " (tagged)");
  openDomain();
  chooseWindow(request.channels);

  const bool sends = role_ == Role::kSender;
  fi_cq_attr queueAttributes{};
  queueAttributes.size = request.completionQueue != 0 ? request.completionQueue : info_->tx_attr->size + info_->rx_attr->size;
  queueAttributes.format = FI_CQ_FORMAT_TAGGED;
  fid_cq* queue = nullptr;
  checkFabric(fi_cq_open(domain_.get(), &queueAttributes, &queue, nullptr), "fi_cq_open", provider_);
  queue_.reset(queue);
  fid_ep* endpoint = nullptr;
  checkFabric(fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr), "fi_endpoint", provider_);
  endpoint_.reset(endpoint);
  checkFabric(fi_ep_bind(endpoint, &addresses_->fid, 0), "fi_ep_bind of the address vector", provider_);
  checkFabric(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind of the queue", provider_);
  checkFabric(fi_enable(endpoint), "fi_enable", provider_);

  const size_t room = sends ? info_->rx_attr->size : info_->tx_attr->size;
  credits_.resize(std::clamp<size_t>(room, 1, kCreditMessages) + 1);
  registerMemory(request);
  for (Operation& operation : credits_) {
    operation.kind = Completion::Kind::kCredit;
    idleCredits_.push_back(&operation);
  }
  idleCredits_.pop_back();
  credits_.back().kind = Completion::Kind::kHello;
}

// Peers may have been killed: their files go with this endpoint.
FabricEndpoint::~FabricEndpoint() { removeStaleShmFiles(); }

void FabricEndpoint::openDomain() {
  fid_fabric* fabric = nullptr;
  checkFabric(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric", provider_);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  checkFabric(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain", provider_);
  domain_.reset(domain);
  fi_av_attr attributes{};
  attributes.type = info_->domain_attr->av_type;
  attributes.count = 1;
  fid_av* addresses = nullptr;
  checkFabric(fi_av_open(domain, &attributes, &addresses, nullptr), "fi_av_open", provider_);
  addresses_.reset(addresses);
}

// Channels wait for each other's calls, so each needs a receive of its own in the queue.
void FabricEndpoint::chooseWindow(uint32_t channels) {
  window_ = depth_;
  if (writes_ || role_ == Role::kSender) return;
  window_ = std::min<uint64_t>(depth_, info_->rx_attr->size / channels);
  if (window_ == 0) {
    fail(ncclInvalidUsage, "the receive queue has {} entries: must be at least {}, one for each channel of the endpoint ({})",
         info_->rx_attr->size, channels, provider_);
  }
}

void FabricEndpoint::registerMemory(const OpenRequest& request) {
  const bool local = (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  const bool target = writes_ && role_ == Role::kReceiver;
  uint64_t access = target ? FI_REMOTE_WRITE : 0;
  if (local) access |= role_ == Role::kSender ? (writes_ ? FI_WRITE : FI_SEND) : (writes_ ? 0 : FI_RECV);
  if (access != 0) memoryRegion_ = registerRange(request.memory, request.memoryBytes, access, kMemoryKey);
  if (local) {
    creditRegion_ = registerRange(credits_.data(), credits_.size() * sizeof(Operation), FI_SEND | FI_RECV, kCreditKey);
  }
}

Handle<fid_mr> FabricEndpoint::registerRange(void* start, size_t bytes, uint64_t access, uint64_t key) {
  fid_mr* region = nullptr;
  const int result = fi_mr_reg(domain_.get(), start, bytes, access, 0, key, 0, &region, nullptr);
  if (result < 0) {
    failFabric(fmt::format("registering {} bytes of memory (limit of locked memory, ulimit -l: {})", bytes,
                           lockedMemoryLimit()),
               result, provider_);
  }
  Handle<fid_mr> handle(region);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    checkFabric(fi_mr_bind(region, &endpoint_->fid, 0), "fi_mr_bind", provider_);
    checkFabric(fi_mr_enable(region), "fi_mr_enable", provider_);
  }
  return handle;
}

EndpointAddress FabricEndpoint::address() const {
  EndpointAddress address{};
  std::strncpy(address.provider, provider_.c_str(), sizeof(address.provider) - 1);
  address.writes = writes_ ? 1 : 0;
  size_t bytes = sizeof(address.name);
  const int result = fi_getname(&endpoint_->fid, address.name, &bytes);
  // Providers pad names of text to more than an exchange carries.
  if (result == -FI_ETOOSMALL && info_->addr_format == FI_ADDR_STR) {
    std::vector<char> text(bytes);
    checkFabric(fi_getname(&endpoint_->fid, text.data(), &bytes), "fi_getname", provider_);
    bytes = strnlen(text.data(), text.size()) + 1;
    if (bytes > sizeof(address.name)) fail(ncclInternalError, "endpoint name of {} bytes is too long ({})", bytes, provider_);
    std::memcpy(address.name, text.data(), bytes);
  } else {
    checkFabric(result, "fi_getname", provider_);
  }
  address.nameBytes = static_cast<uint32_t>(bytes);
  if (writes_ && role_ == Role::kReceiver) {
    address.memoryKey = fi_mr_key(memoryRegion_.get());
    const bool virtualAddress = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    address.memoryBase = virtualAddress ? reinterpret_cast<uint64_t>(memory_) : 0;
  }
  return address;
}

void FabricEndpoint::connect(const EndpointAddress& peer) {
  if (provider_ != peer.provider || writes_ != (peer.writes == 1)) {
    fail(ncclInvalidUsage, "network providers differ: {} here, {} ({}) there", describe(), peer.provider,
         peer.writes == 1 ? "write" : "tagged");
  }
  const int inserted = fi_av_insert(addresses_.get(), peer.name, 1, &peer_, 0, nullptr);
  if (inserted != 1) failFabric("fi_av_insert", inserted < 0 ? inserted : -FI_EADDRNOTAVAIL, provider_);
  if (info_->addr_format == FI_ADDR_STR) shmPeer_ = reinterpret_cast<const char*>(peer.name);
  peerKey_ = peer.memoryKey;
  peerBase_ = peer.memoryBase;
}

// True: posted. False: the provider wants to be polled first.
bool FabricEndpoint::posted(long result, const char* what, bool sends) {
  if (result == -FI_EAGAIN) return false;
  checkFabric(result, what, provider_);
  ++(sends ? sending_ : receiving_);
  return true;
}

bool FabricEndpoint::postSend(const SlotRange& slot) {
  if (sending_ >= info_->tx_attr->size) return false;
  Operation& operation = slotOperation(slot);
  operation.kind = Completion::Kind::kSent;
  operation.channel = slot.channel;
  operation.slot = slot.slot;
  char* start = memory_ + slot.offset;
  iovec parts[2] = {{start, slot.elsewhere == nullptr ? slot.bytes : slot.headerBytes},
                    {slot.elsewhere, slot.elsewhereBytes}};
  void* descriptor = memoryRegion_ ? fi_mr_desc(memoryRegion_.get()) : nullptr;
  void* descriptors[2] = {descriptor, nullptr};  // a second part only where the provider wants none
  const size_t count = slot.elsewhere == nullptr ? 1 : 2;
  if (writes_) {
    const fi_rma_iov target{peerBase_ + slot.offset, slot.bytes, peerKey_};
    const fi_msg_rma message{parts, descriptors, count, peer_, &target, 1, &operation.context, slotTag(slot)};
    return posted(fi_writemsg(endpoint_.get(), &message, FI_REMOTE_CQ_DATA | FI_COMPLETION), "fi_writemsg", true);
  }
  const fi_msg_tagged message{parts, descriptors, count, peer_, slotTag(slot), 0, &operation.context, 0};
  return posted(fi_tsendmsg(endpoint_.get(), &message, FI_COMPLETION), "fi_tsendmsg", true);
}

// Memory that need not be registered can be used as it is; users' memory is never registered, so that no registration can
// be stale when they free it, and the number of their buffers does not matter.
bool FabricEndpoint::usesAnyMemory() const {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0) return false;
  return role_ == Role::kSender ? info_->tx_attr->iov_limit >= 2 : !writes_ && info_->rx_attr->iov_limit >= 3;
}

bool FabricEndpoint::postReceive(const SlotRange& slot) {
  if (writes_) return true;  // the peer's credit is all it needs
  if (receiving_ >= info_->rx_attr->size) return false;
  Operation& operation = slotOperation(slot);
  operation.kind = Completion::Kind::kArrived;
  operation.channel = slot.channel;
  operation.slot = slot.slot;
  char* start = memory_ + slot.offset;
  const uint64_t kept = slot.elsewhere == nullptr ? slot.bytes : slot.headerBytes;
  iovec parts[3] = {{start, kept}, {slot.elsewhere, slot.elsewhereBytes}, {start + kept, slot.bytes - kept - slot.elsewhereBytes}};
  void* descriptor = memoryRegion_ ? fi_mr_desc(memoryRegion_.get()) : nullptr;
  void* descriptors[3] = {descriptor, nullptr, descriptor};
  const size_t count = slot.elsewhere == nullptr ? 1 : (parts[2].iov_len == 0 ? 2 : 3);
  const fi_msg_tagged message{parts, descriptors, count, peer_, slotTag(slot), 0, &operation.context, 0};
  return posted(fi_trecvmsg(endpoint_.get(), &message, FI_COMPLETION), "fi_trecvmsg", false);
}

bool FabricEndpoint::postCredit(uint32_t channel, uint64_t limit) {
  if (idleCredits_.empty()) return false;
  idleCredits_.back()->credit = {channel, limit};
  if (!postCreditSend(*idleCredits_.back())) return false;
  idleCredits_.pop_back();
  return true;
}

// Not injected: a proxy may sleep only when it knows that the message is out.
bool FabricEndpoint::postCreditSend(Operation& operation) {
  if (sending_ >= info_->tx_attr->size) return false;
  void* descriptor = creditRegion_ ? fi_mr_desc(creditRegion_.get()) : nullptr;
  return posted(fi_tsend(endpoint_.get(), &operation.credit, sizeof(CreditMessage), descriptor, peer_, kCreditTag,
                         &operation.context),
                "fi_tsend of a credit", true);
}

bool FabricEndpoint::postCreditReceive(Operation& operation) {
  if (receiving_ >= info_->rx_attr->size) return false;
  void* descriptor = creditRegion_ ? fi_mr_desc(creditRegion_.get()) : nullptr;
  return posted(fi_trecv(endpoint_.get(), &operation.credit, sizeof(CreditMessage), descriptor, peer_, kCreditTag, 0,
                         &operation.context),
                "fi_trecv of a credit", false);
}

void FabricEndpoint::greet() {
  greeted_ = role_ == Role::kSender ? postCreditSend(credits_.back()) : postCreditReceive(credits_.back());
}

// Only the peer opens it, and whoever has sent something has it open: from here on a process that is killed leaves none.
void FabricEndpoint::dropShmFile() {
  if (info_->addr_format == FI_ADDR_STR) removeShmFile(shmName());
}

std::string FabricEndpoint::shmName() const {
  if (info_->addr_format != FI_ADDR_STR) return {};
  return reinterpret_cast<const char*>(address().name);
}

void FabricEndpoint::forgetPeer() {
  if (peer_ != FI_ADDR_UNSPEC) fi_av_remove(addresses_.get(), &peer_, 1, 0);
}

size_t FabricEndpoint::poll(std::span<Completion> completions) {
  if (!greeted_) greet();
  while (role_ == Role::kSender && !idleCredits_.empty() && postCreditReceive(*idleCredits_.back()))
    idleCredits_.pop_back();
  constexpr size_t kBatch = 16;
  fi_cq_tagged_entry entries[kBatch];
  const long got = fi_cq_read(queue_.get(), entries, std::min(kBatch, completions.size()));
  if (got == -FI_EAGAIN) return 0;
  if (got == -FI_EAVAIL) {
    readError();
    return 0;
  }
  checkFabric(got, "fi_cq_read", provider_);
  size_t count = 0;
  for (long i = 0; i < got; ++i)
    if (translate(entries[i], completions[count])) ++count;
  return count;
}

// False: nothing that the connection needs to hear of.
bool FabricEndpoint::translate(const fi_cq_tagged_entry& entry, Completion& completion) {
  if (writes_ && role_ == Role::kReceiver && (entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    completion = {Completion::Kind::kArrived, static_cast<uint32_t>(entry.data >> 8), static_cast<uint32_t>(entry.data & 0xff), 0};
    return true;
  }
  auto* operation = static_cast<Operation*>(entry.op_context);
  if (operation == nullptr) fail(ncclInternalError, "a completion of unknown origin ({})", provider_);
  const bool message = operation->kind == Completion::Kind::kCredit || operation->kind == Completion::Kind::kHello;
  const bool received = operation->kind == Completion::Kind::kArrived ||
                        (operation->kind == Completion::Kind::kCredit && role_ == Role::kSender) ||
                        (operation->kind == Completion::Kind::kHello && role_ == Role::kReceiver);
  --(received ? receiving_ : sending_);
  if (received && !heard_) {
    heard_ = true;
    dropShmFile();
  }
  if (message) {
    if (operation->kind == Completion::Kind::kCredit) idleCredits_.push_back(operation);
    completion = {operation->kind, static_cast<uint32_t>(operation->credit.channel), 0, operation->credit.limit};
    return received;
  }
  completion = {operation->kind, operation->channel, operation->slot, 0};
  return true;
}

void FabricEndpoint::readError() {
  fi_cq_err_entry error{};
  const long got = fi_cq_readerr(queue_.get(), &error, 0);
  if (got == -FI_EAGAIN) return;  // not ready yet: the next poll finds it again
  checkFabric(got, "fi_cq_readerr", provider_);
  char buffer[128] = {};
  const char* detail = fi_cq_strerror(queue_.get(), error.prov_errno, error.err_data, buffer, sizeof(buffer));
  fail(ncclSystemError, "{}: {} ({})", fi_strerror(error.err), detail != nullptr && *detail != '\0' ? detail : "no detail",
       provider_);
}

}  // namespace rondo::fabric
