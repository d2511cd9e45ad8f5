// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/model/symbolic_ring.h"

#include <fmt/format.h>

namespace rondo::symbolic {
namespace {

struct Message {
  Piece piece;
  Content content;
};

struct Rank {
  const std::vector<Step>* steps;
  size_t next = 0;
  Content output;
  std::deque<Message> inbox;  // the receive FIFO
};

size_t granules(uint64_t bytes) { return divideRoundUp(bytes, kGranuleBytes); }

Content slice(const Content& buffer, Piece piece) {
  const auto begin = buffer.begin() + static_cast<long>(piece.offset / kGranuleBytes);
  return {begin, begin + static_cast<long>(granules(piece.bytes))};
}

// What the step's source holds; sets fault if the message is another piece's or a rank would contribute twice.
Content readSource(const Step& step, Rank& rank, uint32_t index, std::string& fault) {
  Content own(granules(step.piece.bytes));
  for (Contributors& granule : own) granule.set(index);
  if (step.source == Source::kInput) return own;
  if (step.source == Source::kOutput) return slice(rank.output, step.piece);
  const Message& message = rank.inbox.front();
  if (message.piece.offset != step.piece.offset || message.piece.bytes != step.piece.bytes)
    fault = fmt::format("rank {} step {}: expects offset {}, gets {}", index, rank.next, step.piece.offset, message.piece.offset);
  Content content = message.content;
  if (fault.empty() && step.source == Source::kPreviousAndInput) {
    for (size_t i = 0; i < content.size(); ++i) {
      if (content[i].test(index)) fault = fmt::format("rank {} contributes twice", index);
      content[i] |= own[i];
    }
  }
  return content;
}

// Runs a rank as far as it gets; true if it did a step.
bool advance(std::vector<Rank>& ranks, uint32_t index, uint32_t depth, std::string& fault) {
  Rank& rank = ranks[index];
  Rank& successor = ranks[(index + 1) % ranks.size()];
  bool moved = false;
  while (fault.empty() && rank.next < rank.steps->size()) {
    const Step& step = (*rank.steps)[rank.next];
    if (step.receives() && rank.inbox.empty()) break;
    if (step.toNext && successor.inbox.size() >= depth) break;
    const Content content = readSource(step, rank, index, fault);
    if (!fault.empty()) break;
    if (step.toOutput)
      std::copy(content.begin(), content.end(), rank.output.begin() + static_cast<long>(step.piece.offset / kGranuleBytes));
    if (step.toNext) successor.inbox.push_back({step.piece, content});
    if (step.receives()) rank.inbox.pop_front();
    ++rank.next;
    moved = true;
  }
  return moved;
}

}  // namespace

Outcome play(const std::vector<std::vector<Step>>& programs, uint64_t bytes, uint32_t depth) {
  std::vector<Rank> ranks;
  for (const auto& steps : programs) ranks.push_back({&steps, 0, Content(granules(bytes)), {}});
  Outcome outcome;
  for (bool moved = true; moved && outcome.fault.empty();) {
    moved = false;
    for (uint32_t index = 0; index < ranks.size(); ++index) moved = advance(ranks, index, depth, outcome.fault) || moved;
  }
  for (uint32_t index = 0; index < ranks.size() && outcome.fault.empty(); ++index) {
    if (ranks[index].next < ranks[index].steps->size())
      outcome.fault = fmt::format("circular wait: rank {} stands at step {} of {}", index, ranks[index].next, ranks[index].steps->size());
    else if (!ranks[index].inbox.empty())
      outcome.fault = fmt::format("rank {} leaves {} messages unread", index, ranks[index].inbox.size());
  }
  for (Rank& rank : ranks) outcome.outputs.push_back(std::move(rank.output));
  return outcome;
}

}  // namespace rondo::symbolic
