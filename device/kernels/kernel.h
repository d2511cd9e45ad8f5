// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The one kernel of the library and its launch.
#pragma once

#include "device/runtime/runtime.h"
#include "device/shared/work.h"

namespace rondo {

// Enqueues the calls in args: 'blocks' channels of 'workers' worker waves and one progress wave each. The current device
// is the communicator's. Throws Error(ncclUnhandledCudaError).
void launchCollectives(const KernelArgs& args, unsigned blocks, unsigned workers, unsigned waveSize,
                       runtime::Stream stream);

}  // namespace rondo
