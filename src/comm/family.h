// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Communicators that were destroyed or aborted here, kept until no peer needs their memory any more: peers write to a
// rank's FIFOs until they have left too. Process-wide; any thread.
#pragma once

#include <memory>

#include "src/comm/communicator.h"

namespace rondo::family {

// A rank of this process has joined the communicator.
void add(uint64_t id);

// Destroys: the last rank of this process waits until every rank everywhere has left, and frees all of them; an earlier
// one returns at once, so that one thread can destroy its ranks one after another.
void retire(std::shared_ptr<Communicator> communicator);

// Aborts: never waits; freed when all have left.
void retireAborted(std::shared_ptr<Communicator> communicator);

}  // namespace rondo::family
