// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The boundary between the library and the network module librondo_fabric.so, the only part that needs libfabric. The
// module is loaded when a communicator first needs a network and is self-contained: a table of C functions is all that
// the two share, no symbols and no exceptions. It needs no callbacks of the library: no function blocks, so whoever polls
// looks at the abort flag; what went wrong is returned; and only the caller knows what is worth a line in the log.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/fabric/endpoint.h"

namespace rondo::fabric {

constexpr uint32_t kModuleVersion = 2;

// Why a function of the module failed.
struct Failure {
  int32_t code;  // ncclResult_t
  char text[500];
};

// Which providers are there. An empty name: none.
struct Providers {
  char local[32];    // for ranks of one host: shm, if allowed
  char network[32];  // for all ranks
  char seen[256];    // what libfabric offers, for error texts
};

struct OpenRequest {
  const char* provider;  // as Providers names it
  Role role;
  char* memory;  // the FIFOs of one direction
  uint64_t memoryBytes;
  const char* sourceAddress;  // numeric IP that the endpoint shall use if the provider has it; empty: any
  uint32_t channels;  // of the communicator; the endpoint may serve some of them
  uint32_t depth;
  uint32_t operation;  // 0: the better one, 1: tagged messages, 2: remote writes
  bool hostBuffers;    // payloads lie in memory that the CPU can use: where that needs no registration, messages are better
  uint64_t sendQueue;  // sizes asked for; 0: the provider's
  uint64_t receiveQueue;
  uint64_t completionQueue;
};

enum class PostResult : int32_t { kFailed = -1, kAgain = 0, kDone = 1 };

// The module's. An endpoint is used by one thread at a time.
struct ModuleTable {
  uint32_t version;
  bool (*probe)(bool allowShm, Providers* providers, Failure* failure);
  void* (*open)(const OpenRequest* request, Failure* failure);  // null: failed
  void (*close)(void* endpoint);
  bool (*address)(void* endpoint, EndpointAddress* address, Failure* failure);
  bool (*connect)(void* endpoint, const EndpointAddress* peer, Failure* failure);
  PostResult (*postSend)(void* endpoint, const SlotRange* slot, Failure* failure);
  PostResult (*postReceive)(void* endpoint, const SlotRange* slot, Failure* failure);
  PostResult (*postCredit)(void* endpoint, uint32_t channel, uint64_t limit, Failure* failure);
  int64_t (*poll)(void* endpoint, Completion* completions, size_t most, Failure* failure);  // -1: failed
  uint64_t (*window)(void* endpoint);
  bool (*usesAnyMemory)(void* endpoint);
  size_t (*pending)(void* endpoint);
  const char* (*describe)(void* endpoint);
};

}  // namespace rondo::fabric

// The one symbol that the module exports. Null when it is of another version.
extern "C" const rondo::fabric::ModuleTable* rondoFabricModule(uint32_t version);
