// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a ring algorithm needs to know. Algorithms are templates over the channel: the same source runs on GPUs, on the
// emulated device and, in tests, with a symbolic channel that records which contribution lands where.
//
// A channel offers, each for one step of at most stepBytes and in the order in which the peers expect them:
//   send(piece)                    own input -> next
//   sendCopy(piece)                own input -> next, and to the own output
//   sendOutput(piece)              own output -> next
//   receive(piece)                 previous -> output
//   forward(piece)                 previous -> output and next
//   receiveReduceSend(piece)       previous + own input -> next
//   receiveReduceCopy(piece)       previous + own input -> output, a partial result
//   receiveReduceFinish(piece)     previous + own input -> output, the final result
//   receiveReduceFinishSend(piece) previous + own input -> output and next, the final result
// and, moving nothing:
//   expect(range, stepBytes)       the receives after the next kLeadSteps fill this range of the output in order
#pragma once

#include <cstdint>

#include "device/arch/arch.h"
#include "device/shared/fifo.h"
#include "device/shared/piece.h"

namespace rondo {

struct RingArgs {
  uint32_t index;          // this rank's place in the ring, 0 to ranks-1; for broadcast counted from the root
  uint32_t ranks;          // at least 2
  Piece range;             // this channel's part of the buffers
  uint64_t stepBytes;      // a multiple of granuleBytes
  uint64_t leadBytes;      // chains: the first kLeadSteps steps, likewise
  uint32_t stepsPerChunk;  // cyclic algorithms
  bool split;              // cyclic algorithms: release a received step before waiting for credit (F5)
};

}  // namespace rondo
