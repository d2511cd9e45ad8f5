// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The binary tree of ranks, and one rank's part in an allGather over it: what it and its children give is joined and
// goes to the parent; rank 0 then has everything, which goes down again. Pure: a ControlTree owns it and moves the
// bytes. Service thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace rondo {

inline int parentOf(int rank) {
  return (rank - 1) / 2;
}
std::vector<int> childrenOf(int rank, int ranks);
bool isInSubtree(int rank, int root);
std::vector<int> subtreeOf(int root, int ranks);  // ascending

// Begins the payload of both messages. Rounds are counted by every rank alike, from 0.
struct GatherHead {
  uint64_t round;
  uint64_t bytesPerRank;
};

class TreeGather {
 public:
  TreeGather(int rank, int ranks);

  uint64_t round() const { return round_; }

  // What 'from', this rank or a child, gives to the current round: head and the entries of its subtree (this rank: its
  // own entry only), ascending. Throws Error(ncclInvalidUsage) when its bytesPerRank is another than before,
  // ncclInternalError when it is out of turn or cut short.
  void add(int from, const std::vector<char>& payload);

  // This rank, if it has not given anything to the current round yet, and such children.
  const std::set<int>& missing() const { return missing_; }
  // This rank and all its children have given theirs.
  bool complete() const { return missing_.empty(); }

  // The message for the parent: this rank's subtree; rank 0's is the whole.
  std::vector<char> joined() const;

  // Throws Error(ncclInternalError) unless payload is the whole of the current round, which then is over.
  void finish(const std::vector<char>& payload);

 private:
  void begin();

  const int rank_;
  const int ranks_;
  uint64_t round_ = 0;
  std::set<int> missing_;  // this rank and children
  int first_ = -1;         // whoever gave first in this round, and how much
  uint64_t bytesPerRank_ = 0;
  std::vector<char> entries_;  // of this rank's subtree, ascending
};

}  // namespace rondo
