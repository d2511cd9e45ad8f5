// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Ring broadcast: a chain from the root, index 0, to index ranks-1, pipelined in steps. The first ones are shorter: the
// chain fills sooner, and the receivers of a network say meanwhile where the others shall land.
#pragma once

#include "device/collectives/ring_args.h"

namespace rondo {

template <class Channel>
RONDO_DEVICE void broadcastRing(Channel& channel, const RingArgs& args) {
  const uint64_t end = args.range.offset + args.range.bytes;
  const uint64_t leadEnd = args.range.offset + kLeadSteps * args.leadBytes;
  if (args.index != 0 && leadEnd < end) channel.expect({leadEnd, end - leadEnd}, args.stepBytes);
  for (uint64_t offset = args.range.offset; offset < end;) {
    const uint64_t most = offset < leadEnd ? args.leadBytes : args.stepBytes;
    const Piece piece{offset, end - offset < most ? end - offset : most};
    if (args.index == 0) {
      channel.sendCopy(piece);
    } else if (args.index == args.ranks - 1) {
      channel.receive(piece);
    } else {
      channel.forward(piece);
    }
    offset += piece.bytes;
  }
}

}  // namespace rondo
