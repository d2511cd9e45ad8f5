// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/module_loader.h"

#include "src/base/error.h"
#include "transport/fabric/module_finder.h"

namespace rondo::fabric {
namespace {

[[noreturn]] void raise(const Failure& failure) { throw Error(static_cast<ncclResult_t>(failure.code), failure.text); }

class ModuleEndpoint : public Endpoint {
 public:
  explicit ModuleEndpoint(const OpenRequest& request) : module_(networkModule()) {
    endpoint_ = module_.open(&request, &failure_);
    if (endpoint_ == nullptr) raise(failure_);
  }
  ~ModuleEndpoint() override { module_.close(endpoint_); }
  ModuleEndpoint(const ModuleEndpoint&) = delete;
  ModuleEndpoint& operator=(const ModuleEndpoint&) = delete;

  EndpointAddress address() const override {
    EndpointAddress address{};
    Failure failure{};
    if (!module_.address(endpoint_, &address, &failure)) raise(failure);
    return address;
  }

  void connect(const EndpointAddress& peer) override {
    if (!module_.connect(endpoint_, &peer, &failure_)) raise(failure_);
  }

  bool postSend(const SlotRange& slot) override { return posted(module_.postSend(endpoint_, &slot, &failure_)); }
  bool postReceive(const SlotRange& slot) override { return posted(module_.postReceive(endpoint_, &slot, &failure_)); }
  bool postCredit(uint32_t channel, uint64_t limit) override {
    return posted(module_.postCredit(endpoint_, channel, limit, &failure_));
  }

  size_t poll(std::span<Completion> completions) override {
    const int64_t count = module_.poll(endpoint_, completions.data(), completions.size(), &failure_);
    if (count < 0) raise(failure_);
    return static_cast<size_t>(count);
  }

  uint64_t window() const override { return module_.window(endpoint_); }
  bool usesAnyMemory() const override { return module_.usesAnyMemory(endpoint_); }
  size_t pending() const override { return module_.pending(endpoint_); }
  std::string describe() const override { return module_.describe(endpoint_); }

 private:
  bool posted(PostResult result) const {
    if (result == PostResult::kFailed) raise(failure_);
    return result == PostResult::kDone;
  }

  const ModuleTable& module_;
  Failure failure_{};
  void* endpoint_;
};

}  // namespace

const ModuleTable& networkModule() {
  static const ModuleTable& module = findModule();  // a failure is thrown and tried again at the next use
  return module;
}

Providers probeProviders(bool allowShm) {
  Providers providers{};
  Failure failure{};
  if (!networkModule().probe(allowShm, &providers, &failure)) raise(failure);
  return providers;
}

std::unique_ptr<Endpoint> openEndpoint(const OpenRequest& request) { return std::make_unique<ModuleEndpoint>(request); }

}  // namespace rondo::fabric
