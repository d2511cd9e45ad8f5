// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/kernels/kernel.h"

#include "device/collectives/all_reduce.h"
#include "device/collectives/broadcast.h"
#include "device/primitives/barrier.h"
#include "device/primitives/channel.h"

namespace rondo {
namespace {

// What block 'block' has to do for a call.
RONDO_DEVICE RingArgs ringArgs(const Work& work, unsigned block, uint64_t depth) {
  const uint64_t bytes = work.count * elementBytes(work.reduction.type);
  return {work.ringIndex, work.ringSize,      channelRange(bytes, work.channels, block),
          work.stepBytes, work.leadBytes,     work.stepsPerChunk,
          mustSplit(depth, work.stepsPerChunk)};
}

RONDO_DEVICE void clearShared(ProgressShared& shared) {
  arch::Reconverge scope;
  if (arch::waveIndex() == 0 && arch::oneLane()) {
    for (Word& word : shared.done) arch::storeRelaxed<arch::Scope::kBlock>(word, 0);
    arch::storeRelaxed<arch::Scope::kBlock>(shared.grantReceive, 0);
    arch::storeRelaxed<arch::Scope::kBlock>(shared.grantSend, 0);
    arch::storeRelaxed<arch::Scope::kBlock>(shared.never, 0);
    arch::storeRelaxed<arch::Scope::kBlock>(shared.workerBarrier, 0);
  }
}

// One block per channel. Wave 0 drives the FIFOs, the other waves move and reduce.
RONDO_KERNEL void collectiveKernel(RONDO_KERNEL_ARGS(KernelArgs, args)) {
  ProgressShared& shared = *arch::blockShared<ProgressShared>();
  ChannelState& state = args.channels[arch::blockIndex()];
  const unsigned workers = arch::waveCount() - 1;
  clearShared(shared);
  arch::syncBlock();
  if (arch::waveIndex() == 0) {
    runProgress(state, shared, workers);
    return;
  }
  RingChannel channel(state, shared, arch::waveIndex() - 1, workers);
  WaveBarrier barrier(shared.workerBarrier, workers);
  for (uint32_t i = 0; i < args.workCount; ++i) {
    if (i > 0) barrier.arriveAndWait();  // a call may read what an earlier one of the launch wrote, in other parts
    const Work& work = args.works[i];
    if (arch::blockIndex() >= work.channels) continue;
    const RingArgs ring = ringArgs(work, arch::blockIndex(), state.send.depth);
    channel.startCall(work);
    switch (work.kind) {
      case CollectiveKind::kBroadcast:
        broadcastRing(channel, ring);
        break;
      case CollectiveKind::kAllReduce:
        allReduceRing(channel, ring);
        break;
    }
    channel.finishCall();
  }
  channel.finish();
}

}  // namespace

void launchCollectives(const KernelArgs& args, const BlockShape& shape, runtime::Stream stream) {
  const arch::LaunchShape launch{shape.blocks, (shape.workers + 1) * shape.waveSize, 1};
  runtime::check(arch::launchKernel(&collectiveKernel, launch, args, stream), "launch of a collective");
}

}  // namespace rondo
