// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Ring broadcast: a chain from the root, index 0, to index ranks-1, pipelined in steps.
#pragma once

#include "device/collectives/ring_args.h"

namespace rondo {

template <class Channel>
RONDO_DEVICE void broadcastRing(Channel& channel, const RingArgs& args) {
  const uint64_t end = args.range.offset + args.range.bytes;
  for (uint64_t offset = args.range.offset; offset < end; offset += args.stepBytes) {
    const Piece piece{offset, end - offset < args.stepBytes ? end - offset : args.stepBytes};
    if (args.index == 0) {
      channel.sendCopy(piece);
    } else if (args.index == args.ranks - 1) {
      channel.receive(piece);
    } else {
      channel.forward(piece);
    }
  }
}

}  // namespace rondo
