// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What kernel launches use: a task of the emulated device's own, in a stream's order. Any thread.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "device/emu/device.h"

namespace rondo::emu {

// Appends run to the stream (0, cudaStreamLegacy and cudaStreamPerThread too). It runs on the stream's thread, after
// all work before it and in the null stream's order; an exception it throws becomes the device's failure
// (cudaErrorLaunchFailure), after which later work is left out. Codes: cudaErrorInvalidResourceHandle (no such stream),
// the device's failure, cudaErrorOperatingSystem (no thread).
cudaError_t enqueueOnStream(cudaStream_t stream, std::function<void()> run);

// The device of a stream; nullptr: no such stream.
Device* deviceOfStream(cudaStream_t stream);

}  // namespace rondo::emu
