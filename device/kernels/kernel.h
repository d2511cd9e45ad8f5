// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The one kernel of the library and its launch.
#pragma once

#include "device/runtime/runtime.h"
#include "device/shared/work.h"

namespace rondo {

struct BlockShape {
  unsigned blocks;    // one per channel
  unsigned workers;   // worker waves of a block, beside its progress wave
  unsigned waveSize;  // lanes
};

// Enqueues the calls in args. The current device is the communicator's. Throws Error(ncclUnhandledCudaError).
void launchCollectives(const KernelArgs& args, const BlockShape& shape, runtime::Stream stream);

}  // namespace rondo
