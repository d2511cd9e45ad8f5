// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Endpoint over libfabric (FI_EP_RDM): one domain, endpoint, address vector and completion queue for one direction to one
// peer, so that whatever the queue reports concerns that peer, and closing it touches nobody else. Slots travel as remote
// writes with data (which say where they landed) or, where a provider has none, as tagged messages into receives posted
// ahead; credits are small tagged messages. One thread at a time.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <string>
#include <vector>

#include "transport/fabric/endpoint.h"
#include "transport/fabric/libfabric/providers.h"

namespace rondo::fabric {

class FabricEndpoint : public Endpoint {
 public:
  explicit FabricEndpoint(const OpenRequest& request);
  ~FabricEndpoint() override;

  EndpointAddress address() const override;
  void connect(const EndpointAddress& peer) override;
  bool postSend(const SlotRange& slot) override;
  bool postReceive(const SlotRange& slot) override;
  bool postCredit(uint32_t channel, uint64_t limit) override;
  size_t poll(std::span<Completion> completions) override;
  uint64_t window() const override { return window_; }
  bool usesAnyMemory() const override;
  size_t pending() const override { return sending_; }

  // shm only: the names of this endpoint and of its peer, empty before connect; see undertaker.h.
  std::string shmName() const;
  const std::string& shmPeer() const { return shmPeer_; }
  void forgetPeer();

  std::string describe() const override { return text_; }
  const std::string& text() const { return text_; }

 private:
  struct CreditMessage {
    uint64_t channel;
    uint64_t limit;
  };
  // What an operation's completion points back to.
  struct Operation {
    fi_context2 context;  // first: libfabric's while the operation runs
    Completion::Kind kind;
    uint32_t channel;
    uint32_t slot;
    CreditMessage credit;
  };

  Operation& slotOperation(const SlotRange& slot) { return slots_[slot.channel * depth_ + slot.slot]; }
  void openDomain();
  void chooseWindow(uint32_t channels);
  void registerMemory(const OpenRequest& request);
  Handle<fid_mr> registerRange(void* start, size_t bytes, uint64_t access, uint64_t key);
  bool posted(long result, const char* what, bool sends);
  bool postCreditReceive(Operation& operation);
  bool postCreditSend(Operation& operation);
  void greet();
  void dropShmFile();
  bool translate(const fi_cq_tagged_entry& entry, Completion& completion);
  void readError();

  const Role role_;
  const uint32_t depth_;
  char* const memory_;
  std::string provider_;
  std::string shmFile_;
  std::string shmPeer_;
  bool writes_ = false;
  std::string text_;  // "tcp;ofi_rxm (write)"
  uint64_t window_;
  Info info_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> addresses_;
  Handle<fid_cq> queue_;
  std::vector<Operation> slots_;    // of each slot of each channel
  // A sender's posted receives, a receiver's messages; the last one is the greeting and goes the other way.
  std::vector<Operation> credits_;
  Handle<fid_ep> endpoint_;         // closed before what it is bound to and what it works on
  Handle<fid_mr> memoryRegion_;
  Handle<fid_mr> creditRegion_;
  std::vector<Operation*> idleCredits_;
  bool greeted_ = false;  // the greeting's message or receive is posted
  bool heard_ = false;    // something has come from the peer
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  uint64_t peerKey_ = 0;
  uint64_t peerBase_ = 0;
  size_t sending_ = 0;    // of sends, writes and credits under way
  size_t receiving_ = 0;  // receives posted
};

}  // namespace rondo::fabric
