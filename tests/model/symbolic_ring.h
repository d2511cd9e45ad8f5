// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Runs a ring algorithm on all ranks without data: each rank's algorithm writes down its steps, then the steps are played
// against FIFOs of a given depth. Every 128-byte granule of a buffer carries the set of ranks that contributed to it.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "device/collectives/ring_args.h"

namespace rondo::symbolic {

constexpr uint32_t kMaxRanks = 128;
using Contributors = std::bitset<kMaxRanks>;
using Content = std::vector<Contributors>;  // one per granule of a piece or buffer

enum class Source { kInput, kOutput, kPrevious, kPreviousAndInput };

struct Step {
  Source source;
  bool toOutput;
  bool toNext;
  Piece piece;

  bool receives() const { return source == Source::kPrevious || source == Source::kPreviousAndInput; }
};

// The channel that algorithms are instantiated with: writes the steps down.
class Recorder {
 public:
  void send(Piece piece) { steps.push_back({Source::kInput, false, true, piece}); }
  void sendCopy(Piece piece) { steps.push_back({Source::kInput, true, true, piece}); }
  void sendOutput(Piece piece) { steps.push_back({Source::kOutput, false, true, piece}); }
  void receive(Piece piece) { steps.push_back({Source::kPrevious, true, false, piece}); }
  void forward(Piece piece) { steps.push_back({Source::kPrevious, true, true, piece}); }
  void receiveReduceSend(Piece piece) { steps.push_back({Source::kPreviousAndInput, false, true, piece}); }
  void receiveReduceCopy(Piece piece) { steps.push_back({Source::kPreviousAndInput, true, false, piece}); }
  void receiveReduceFinish(Piece piece) { receiveReduceCopy(piece); }
  void receiveReduceFinishSend(Piece piece) { steps.push_back({Source::kPreviousAndInput, true, true, piece}); }

  void expect(Piece, uint64_t) {}

  std::vector<Step> steps;
};

struct Outcome {
  std::string fault;             // empty when all ranks finished and every step fitted its message
  std::vector<Content> outputs;  // per rank in ring order
};

// Plays the ranks' steps. A step that receives holds the slot until the step is done; it starts when the message is there
// and, if it sends too, there is credit: fewer than 'depth' messages in the next rank's FIFO, those held included.
Outcome play(const std::vector<std::vector<Step>>& ranks, uint64_t bytes, uint32_t depth);

}  // namespace rondo::symbolic
