// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/group.h"

#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/signals.h"

namespace rondo::group {
namespace {

struct PendingInit {
  std::shared_ptr<CommHandle> handle;
  ncclComm_t* output;  // already written; set to NULL if init fails
};

// Of one communicator, in issue order.
struct PendingCalls {
  std::shared_ptr<Communicator> communicator;
  std::vector<StreamCall> calls;
};

struct Pending {
  int depth = 0;
  std::optional<Error> error;
  std::vector<PendingInit> inits;
  std::vector<PendingCalls> calls;
};

thread_local Pending pending;

// The ranks of one process meet each other: each needs a thread of its own. The first error is thrown when all are done.
void runInits(const std::vector<PendingInit>& inits) {
  std::vector<std::thread> threads;
  std::vector<std::optional<Error>> errors(inits.size());
  for (size_t i = 0; i < inits.size(); ++i) {
    if (!inits[i].handle->request().config.blocking) {
      inits[i].handle->startInitialise();
      continue;
    }
    const auto initialise = [&inits, &errors, i] {
      try {
        inits[i].handle->initialise();
      } catch (const Error& error) {
        errors[i] = error;
      }
    };
    if (inits.size() == 1) {
      initialise();
      continue;
    }
    try {
      const SignalsBlocked blocked;
      threads.emplace_back(initialise);
    } catch (const std::system_error& error) {
      // Those already started would wait for this rank.
      errors[i] = Error(ncclSystemError, fmt::format("starting a thread for the init of rank {}: {}", i, error.what()));
      for (const PendingInit& init : inits) init.handle->cancel();
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::optional<Error> first;
  for (size_t i = 0; i < inits.size(); ++i) {
    if (!errors[i]) continue;
    if (!first || (first->code() == ncclRemoteError && errors[i]->code() != ncclRemoteError)) first = errors[i];
  }
  if (!first) return;
  for (const PendingInit& init : inits) {
    if (init.handle->state() == ncclSuccess || !init.handle->request().config.blocking) continue;
    registry::remove(*init.output, "ncclGroupEnd");
    *init.output = nullptr;
  }
  throw *first;
}

}  // namespace

bool active() { return pending.depth > 0; }

void start() { ++pending.depth; }

void noteError(const Error& error) {
  if (active() && !pending.error) pending.error = error;
}

void end() {
  if (!active()) fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--pending.depth > 0) return;
  const Pending work = std::exchange(pending, Pending{});
  if (work.error) {
    for (const PendingInit& init : work.inits) {
      registry::remove(*init.output, "ncclGroupEnd");
      *init.output = nullptr;
    }
    throw *work.error;
  }
  runInits(work.inits);
  for (const PendingCalls& entry : work.calls) entry.communicator->throwIfFailed();
  for (const PendingCalls& entry : work.calls) entry.communicator->launch(entry.calls);
}

void collect(const std::shared_ptr<Communicator>& communicator, const StreamCall& call) {
  for (PendingCalls& entry : pending.calls) {
    if (entry.communicator != communicator) continue;
    entry.calls.push_back(call);
    return;
  }
  pending.calls.push_back({communicator, {call}});
}

void addInit(const std::shared_ptr<CommHandle>& handle, ncclComm_t* output) {
  const ncclComm_t comm = registry::add(handle);
  *output = comm;
  if (active()) {
    pending.inits.push_back({handle, output});
    return;
  }
  runInits({{handle, output}});
}

}  // namespace rondo::group
