// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The check of one rank: fills its buffers before an operation, compares them afterwards, on the host. Owned and used
// by the rank's thread.
#pragma once

#include <string>
#include <vector>

#include "collective.h"
#include "ranks.h"

namespace perf {

// One period of elements, written out so often that a whole piece can be copied or compared from any place in it.
class Pattern {
 public:
  static constexpr size_t kPieceBytes = 1 << 20;

  template <class Fill>
  void build(size_t element_bytes, Fill fill);
  // kPieceBytes of it, as they stand at element `index` of a buffer.
  const char* at(size_t index) const { return bytes_.data() + index % kPeriod * element_bytes_; }

 private:
  size_t element_bytes_ = 1;
  std::vector<char> bytes_;
};

struct CheckedCase {
  Recipe recipe;
  int root = 0;
  size_t count = 0;
  size_t element_bytes = 1;
  bool in_place = false;
};

class Verifier {
 public:
  Verifier(const Collective& collective, const Rank& rank) : collective_(collective), rank_(rank) {}

  // Enqueues the filling on the rank's stream.
  void prepare(const CheckedCase& checked);
  // Waits for the stream; how much is wrong: elements of the result, changed elements of the send buffer, damaged
  // guards. `first` says what the first of them is.
  size_t countWrong(const CheckedCase& checked, std::string* first);

 private:
  void buildPatterns(const CheckedCase& checked);
  void fill(char* device, const CheckedCase& checked);
  size_t compare(const char* device, const Pattern& expected, const Recipe& recipe, const CheckedCase& checked,
                 const char* what, std::string* first);
  size_t compareGuard(const char* device, const char* what, std::string* first);
  const char* fetch(const char* device, size_t bytes);

  const Collective& collective_;
  const Rank& rank_;
  Recipe built_recipe_;
  int built_root_ = -2;  // none yet
  Pattern input_;
  Pattern expected_;
  std::vector<char> staging_;
};

}  // namespace perf
