// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The progress wavefront of a block (wave 0): the only wave that touches the FIFOs' counters. Its four duties are
// waitReceive, waitSend, postReceive and postSend, for all steps in flight at once, in one flat loop without inner waits:
//   lane 0   watches the receive FIFO's tail,  grants receives to the workers, posts the receive FIFO's head
//   lane 1   watches the send FIFO's head,     grants sends to the workers,    posts the send FIFO's tail
//   lane 2+w watches worker w's done word
// A pass acts on any change, so no wait ever gates a post (G1, G2). Workers count steps from the launch's start, so
// 32 bits are enough for them (the planner keeps a launch below 2^31 steps); the FIFO's own counters have 64.
#pragma once

#include "device/primitives/fifo.h"
#include "device/shared/limits.h"
#include "device/shared/work.h"

namespace rondo {

// In the block's shared memory; zeroed at kernel entry.
struct ProgressShared {
  Word grantReceive;       // receive steps granted; kAborted when the launch is to end. Written by lane 0 of wave 0.
  Word grantSend;          // likewise by lane 1
  Word done[kMaxWorkers];  // worker w's steps done: receives in bits 32-62, sends in bits 0-31; kFinished. Written by it.
  Word never;              // stays 0: what lanes without a duty watch
  Word workerBarrier;      // WaveBarrier of the workers
};

constexpr uint64_t kAborted = uint64_t{1} << 63;   // in a grant; the count below it is final then
constexpr uint64_t kFinished = uint64_t{1} << 63;  // in a done word
constexpr uint32_t kFinishedHigh = uint32_t{1} << 31;
constexpr unsigned kPassesPerAbortCheck = 128;  // the flag lies across PCIe: a load costs as much as two passes

// The state of one lane of the progress wavefront. Lanes without a duty have a watched word that never changes.
struct ProgressLane {
  const Word* watched;
  Word* grant;      // lanes 0 and 1
  Word* post;       // lanes 0 and 1
  Word* stepState;  // lanes 0 and 1: where the connection's next step is kept between kernels
  uint64_t base;    // the FIFO's step at launch
  uint64_t credit;  // what the watched counter allows beyond itself: depth for sends
  bool ownsFifo;
  bool watchesWorker;
};

RONDO_DEVICE ProgressLane assignDuty(ChannelState& channel, ProgressShared& shared, unsigned workers) {
  const unsigned lane = arch::laneIndex();
  ProgressLane duty{&shared.never, &shared.never, &shared.never, &shared.never, 0, 0, false, false};
  if (lane == 0) {
    duty.watched = channel.receive.tail;
    duty.grant = &shared.grantReceive;
    duty.post = channel.receive.head;
    duty.stepState = &channel.receiveStep;
    duty.ownsFifo = true;
  } else if (lane == 1) {
    duty.watched = channel.send.head;
    duty.grant = &shared.grantSend;
    duty.post = channel.send.tail;
    duty.stepState = &channel.sendStep;
    duty.credit = channel.send.depth;
    duty.ownsFifo = true;
  } else if (lane - 2 < workers) {
    duty.watched = &shared.done[lane - 2];
    duty.watchesWorker = true;
  }
  return duty;
}

// Runs until every worker has finished and everything they did is posted.
RONDO_DEVICE void runProgress(ChannelState& channel, ProgressShared& shared, unsigned workers) {
  ProgressLane duty = assignDuty(channel, shared, workers);
  duty.base = arch::loadRelaxed<arch::Scope::kDevice>(*duty.stepState);
  uint64_t seen = ~uint64_t{0};  // no counter has this value: the first pass acts
  uint64_t granted = 0;
  uint64_t posted = 0;
  bool aborted = false;
  for (unsigned pass = 1;; ++pass) {
    if (pass % kPassesPerAbortCheck == 0 && !aborted) {
      // Relaxed: the flag carries no data. Pairs with the host's store in Communicator::abort.
      aborted = arch::ballot(arch::loadRelaxed<arch::Scope::kSystem>(channel.report->abort) != 0) != 0;
      if (aborted) {
        arch::Reconverge scope;
        // Decided once, told with the grant: every worker leaves at the first step that the final count does not cover.
        if (duty.ownsFifo) arch::storeRelease<arch::Scope::kBlock>(*duty.grant, granted | kAborted);
      }
    }
    uint64_t now = arch::loadRelaxed<arch::Scope::kSystem>(*duty.watched);
    if (arch::ballot(now != seen) == 0) {
      arch::spinPause();
      continue;
    }
    // Acquire: lane 0 pairs with the producer's tail (F4), lane 1 with the consumer's head (F2), the others with worker
    // waves' done words (F3). syncWave then puts all of it before the releases of lanes 0 and 1 below.
    now = arch::loadAcquire<arch::Scope::kSystem>(*duty.watched);
    seen = now;
    arch::syncWave();
    const uint32_t receivesDone = arch::waveMin(duty.watchesWorker ? static_cast<uint32_t>(now >> 32) : ~uint32_t{0});
    const uint32_t sendsDone = arch::waveMin(duty.watchesWorker ? static_cast<uint32_t>(now) : ~uint32_t{0});
    {
      arch::Reconverge scope;
      if (duty.ownsFifo) {
        const uint64_t allowed = now + duty.credit - duty.base;
        if (allowed != granted && !aborted) {
          granted = allowed;
          // Pairs with RingChannel::await: hands F2 and F4 on to the workers.
          arch::storeRelease<arch::Scope::kBlock>(*duty.grant, granted);
        }
        const uint64_t done = arch::laneIndex() == 0 ? receivesDone & ~kFinishedHigh : sendsDone;
        if (done > posted) {
          posted = done;
          // F3 and F4: one instruction, so one fence serves both counters. Pairs with the peer's acquire above.
          arch::storeRelease<arch::Scope::kSystem>(*duty.post, duty.base + posted);
        }
      }
    }
    if ((receivesDone & kFinishedHigh) != 0) break;
  }
  arch::Reconverge scope;
  if (duty.ownsFifo) arch::storeRelaxed<arch::Scope::kDevice>(*duty.stepState, duty.base + posted);
  if (channel.ended != nullptr && arch::laneIndex() == 0) {
    const uint64_t launches = arch::loadRelaxed<arch::Scope::kDevice>(channel.launches) + 1;
    arch::storeRelaxed<arch::Scope::kDevice>(channel.launches, launches);
    // Relaxed: it says that this channel needs no proxy for now; what the proxy moves it learns from tail and head.
    arch::storeRelaxed<arch::Scope::kSystem>(*channel.ended, launches);
  }
}

}  // namespace rondo
