// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/launch.h"

#include "device/emu/device.h"
#include "device/emu/enqueue.h"
#include "device/emu/grid.h"
#include "device/emu/options.h"

namespace rondo::emu {

int launch(unsigned blocks, unsigned threads, unsigned laneWaves, std::function<void()> kernel, cudaStream_t stream) {
  const GridSpec spec{blocks, threads, laneWaves, static_cast<unsigned>(options().wave), options().progress};
  Device* target = deviceOfStream(stream);
  if (target == nullptr) return cudaErrorInvalidResourceHandle;
  if (blocks == 0 || threads == 0 || threads % spec.waveSize != 0 || static_cast<int>(blocks) > target->blockLimit())
    return cudaErrorInvalidConfiguration;
  return enqueueOnStream(stream, [spec, target, kernel = std::move(kernel)] {
    if (!target->acquireBlocks(static_cast<int>(spec.blocks))) return;
    runGrid(spec, kernel);
    target->releaseBlocks(static_cast<int>(spec.blocks));
  });
}

}  // namespace rondo::emu
