// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Ring allreduce: reduce-scatter, then all-gather (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", 2009). The range is worked off in rounds of one chunk per rank. In a round, chunk c starts
// at rank c + 1, gathers a contribution at each rank, is complete at rank c, and goes round once more.
#pragma once

#include "device/collectives/ring_args.h"

namespace rondo {

// One round's chunks: ranks chunks of chunkBytes from 'offset', the last ones shorter or empty at the range's end. Every
// rank computes the same, so an empty chunk is left out by all.
struct RingRound {
  uint64_t offset;
  uint64_t end;
  uint64_t chunkBytes;
  uint64_t stepBytes;

  template <class Step>
  RONDO_DEVICE void forEachStep(uint32_t chunk, Step step) const {
    const uint64_t begin = offset + chunk * chunkBytes;
    const uint64_t chunkEnd = begin + chunkBytes < end ? begin + chunkBytes : end;
    for (uint64_t at = begin; at < chunkEnd; at += stepBytes)
      step(Piece{at, chunkEnd - at < stepBytes ? chunkEnd - at : stepBytes});
  }
};

template <class Channel>
RONDO_DEVICE void allReduceRound(Channel& channel, const RingArgs& args, const RingRound& round) {
  const uint32_t ranks = args.ranks;
  const auto chunkBehind = [&](uint32_t distance) { return (args.index + ranks - distance) % ranks; };

  round.forEachStep(chunkBehind(1), [&](Piece piece) { channel.send(piece); });
  for (uint32_t distance = 2; distance < ranks; ++distance) {
    round.forEachStep(chunkBehind(distance), [&](Piece piece) {
      if (args.split) {
        channel.receiveReduceCopy(piece);  // the output serves as scratch: its chunk is final only later
        channel.sendOutput(piece);
      } else {
        channel.receiveReduceSend(piece);
      }
    });
  }
  round.forEachStep(args.index, [&](Piece piece) {
    if (args.split) {
      channel.receiveReduceFinish(piece);
      channel.sendOutput(piece);
    } else {
      channel.receiveReduceFinishSend(piece);
    }
  });
  for (uint32_t distance = 1; distance < ranks - 1; ++distance) {
    round.forEachStep(chunkBehind(distance), [&](Piece piece) {
      if (args.split) {
        channel.receive(piece);
        channel.sendOutput(piece);
      } else {
        channel.forward(piece);
      }
    });
  }
  round.forEachStep(chunkBehind(ranks - 1), [&](Piece piece) { channel.receive(piece); });
}

template <class Channel>
RONDO_DEVICE void allReduceRing(Channel& channel, const RingArgs& args) {
  const uint64_t end = args.range.offset + args.range.bytes;
  const uint64_t most = args.stepBytes * args.stepsPerChunk;
  uint64_t offset = args.range.offset;
  while (offset < end) {
    const uint64_t share = divideRoundUp(divideRoundUp(end - offset, args.ranks), kGranuleBytes) * kGranuleBytes;
    const RingRound round{offset, end, share < most ? share : most, args.stepBytes};
    allReduceRound(channel, args, round);
    offset += round.chunkBytes * args.ranks;
  }
}

}  // namespace rondo
