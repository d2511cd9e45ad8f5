// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Kernel launch on the emulated device: enqueues a grid on a stream.
#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace rondo::emu {

// Returns a cudaError_t. The grid waits until the device has room for all its blocks (RONDO_EMU_BLOCKS).
int launch(unsigned blocks, unsigned threads, unsigned laneWaves, std::function<void()> kernel, cudaStream_t stream);

}  // namespace rondo::emu
