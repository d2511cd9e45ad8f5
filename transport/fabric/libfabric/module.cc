// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The module's edge: C functions over FabricEndpoint. No exception leaves it.
#include "transport/fabric/module.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "transport/fabric/libfabric/fabric_endpoint.h"
#include "transport/fabric/libfabric/providers.h"
#include "transport/fabric/libfabric/undertaker.h"

namespace rondo::fabric {
namespace {

FabricEndpoint& of(void* endpoint) { return *static_cast<FabricEndpoint*>(endpoint); }

void tell(Failure* failure, ncclResult_t code, const char* text) {
  failure->code = code;
  std::strncpy(failure->text, text, sizeof(failure->text) - 1);
  failure->text[sizeof(failure->text) - 1] = '\0';
}

// What 'work' returns, or 'failed' when it throws.
template <class Result, class Work>
Result guarded(Failure* failure, Result failed, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    tell(failure, error.code(), error.what());
  } catch (const std::exception& error) {
    tell(failure, ncclInternalError, error.what());
  }
  return failed;
}

template <class Work>
PostResult guardedPost(Failure* failure, Work work) {
  return guarded(failure, PostResult::kFailed, [&] { return work() ? PostResult::kDone : PostResult::kAgain; });
}

constexpr ModuleTable kTable = {
    .version = kModuleVersion,
    .probe = [](bool allowShm, Providers* providers, Failure* failure) {
      return guarded(failure, false, [&] {
        *providers = findProviders(allowShm);
        return true;
      });
    },
    .open = [](const OpenRequest* request, Failure* failure) -> void* {
      return guarded(failure, static_cast<void*>(nullptr), [&]() -> void* {
        auto* endpoint = new FabricEndpoint(*request);
        noteOpened(endpoint);
        return endpoint;
      });
    },
    .close = [](void* endpoint) { giveUp(static_cast<FabricEndpoint*>(endpoint)); },
    .address = [](void* endpoint, EndpointAddress* address, Failure* failure) {
      return guarded(failure, false, [&] {
        *address = of(endpoint).address();
        return true;
      });
    },
    .connect = [](void* endpoint, const EndpointAddress* peer, Failure* failure) {
      return guarded(failure, false, [&] {
        connectNoted(of(endpoint), *peer);
        return true;
      });
    },
    .postSend = [](void* endpoint, const SlotRange* slot, Failure* failure) {
      return guardedPost(failure, [&] { return of(endpoint).postSend(*slot); });
    },
    .postReceive = [](void* endpoint, const SlotRange* slot, Failure* failure) {
      return guardedPost(failure, [&] { return of(endpoint).postReceive(*slot); });
    },
    .postCredit = [](void* endpoint, uint32_t channel, uint64_t limit, Failure* failure) {
      return guardedPost(failure, [&] { return of(endpoint).postCredit(channel, limit); });
    },
    .poll = [](void* endpoint, Completion* completions, size_t most, Failure* failure) {
      return guarded(failure, int64_t{-1}, [&] {
        return static_cast<int64_t>(of(endpoint).poll({completions, most}));
      });
    },
    .window = [](void* endpoint) { return of(endpoint).window(); },
    .usesAnyMemory = [](void* endpoint) { return of(endpoint).usesAnyMemory(); },
    .pending = [](void* endpoint) { return of(endpoint).pending(); },
    .describe = [](void* endpoint) { return of(endpoint).text().c_str(); },
};

}  // namespace
}  // namespace rondo::fabric

extern "C" __attribute__((visibility("default"))) const rondo::fabric::ModuleTable* rondoFabricModule(uint32_t version) {
  return version == rondo::fabric::kModuleVersion ? &rondo::fabric::kTable : nullptr;
}
