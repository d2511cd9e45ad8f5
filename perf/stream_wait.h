// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Waiting for streams on which collectives run: polls, and looks at the communicators' state, so that a failed one ends
// the wait. Any thread.
#pragma once

#include <span>

#include "gpu.h"

namespace perf {

struct PendingStream {
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
};

// Throws Failure, with the communicator's text, when it has failed.
void checkCommunicator(ncclComm_t comm);

// Throws Failure when a stream or a communicator reports an error.
void waitStreams(std::span<const PendingStream> pending);

}  // namespace perf
