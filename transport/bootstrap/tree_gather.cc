// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/tree_gather.h"

#include <algorithm>
#include <cstring>

#include "src/base/error.h"

namespace rondo {

std::vector<int> childrenOf(int rank, int ranks) {
  std::vector<int> children;
  for (int child = 2 * rank + 1; child <= 2 * rank + 2; ++child)
    if (child < ranks) children.push_back(child);
  return children;
}

bool isInSubtree(int rank, int root) {
  while (rank > root) rank = parentOf(rank);
  return rank == root;
}

// Each level of a subtree is a run of ranks.
std::vector<int> subtreeOf(int root, int ranks) {
  std::vector<int> result;
  for (int64_t first = root, width = 1; first < ranks; first = 2 * first + 1, width *= 2)
    for (int64_t rank = first; rank < std::min<int64_t>(first + width, ranks); ++rank)
      result.push_back(static_cast<int>(rank));
  return result;
}

namespace {

GatherHead headOf(const std::vector<char>& payload) {
  GatherHead head{};
  if (payload.size() < sizeof(head)) fail(ncclInternalError, "a part of an exchange that is cut short");
  std::memcpy(&head, payload.data(), sizeof(head));
  return head;
}

}  // namespace

TreeGather::TreeGather(int rank, int ranks) : rank_(rank), ranks_(ranks) {
  begin();
}

void TreeGather::begin() {
  const auto children = childrenOf(rank_, ranks_);
  missing_ = std::set<int>(children.begin(), children.end());
  missing_.insert(rank_);
  first_ = -1;
  entries_.clear();
}

void TreeGather::add(int from, const std::vector<char>& payload) {
  const GatherHead head = headOf(payload);
  if (!missing_.contains(from) || head.round != round_)
    fail(ncclInternalError, "rank {} takes part in exchange {} out of turn: rank {} is at exchange {}", from,
         head.round, rank_, round_);
  if (first_ >= 0 && head.bytesPerRank != bytesPerRank_)
    throw Error(ncclInvalidUsage,
                fmt::format("exchange {}: rank {} gives {} bytes, rank {} gives {}", round_, first_, bytesPerRank_,
                            from, head.bytesPerRank),
                from);
  const auto own = subtreeOf(rank_, ranks_);
  const auto ranks = from == rank_ ? std::vector<int>{rank_} : subtreeOf(from, ranks_);
  if ((payload.size() - sizeof(head)) / ranks.size() != head.bytesPerRank ||
      (payload.size() - sizeof(head)) % ranks.size() != 0)
    fail(ncclInternalError, "exchange {}: rank {} gives {} bytes for {} ranks, {} each were announced", round_, from,
         payload.size() - sizeof(head), ranks.size(), head.bytesPerRank);
  if (first_ < 0) {
    first_ = from;
    bytesPerRank_ = head.bytesPerRank;
    entries_.resize(own.size() * bytesPerRank_);
  }
  const char* next = payload.data() + sizeof(head);
  for (const int rank : ranks) {
    const auto place = std::lower_bound(own.begin(), own.end(), rank) - own.begin();
    std::copy_n(next, bytesPerRank_, entries_.begin() + place * static_cast<ptrdiff_t>(bytesPerRank_));
    next += bytesPerRank_;
  }
  missing_.erase(from);
}

std::vector<char> TreeGather::joined() const {
  const GatherHead head{round_, bytesPerRank_};
  std::vector<char> payload(sizeof(head) + entries_.size());
  std::memcpy(payload.data(), &head, sizeof(head));
  std::copy(entries_.begin(), entries_.end(), payload.begin() + sizeof(head));
  return payload;
}

void TreeGather::finish(const std::vector<char>& payload) {
  const GatherHead head = headOf(payload);
  if (!complete() || head.round != round_ || head.bytesPerRank != bytesPerRank_ ||
      payload.size() != sizeof(head) + static_cast<size_t>(ranks_) * bytesPerRank_)
    fail(ncclInternalError, "rank {} got the result of exchange {} out of turn or cut short in exchange {}", rank_,
         head.round, round_);
  ++round_;
  begin();
}

}  // namespace rondo
