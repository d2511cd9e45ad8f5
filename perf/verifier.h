// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The check of one rank: fills its buffers before an operation, compares them afterwards, on the host. Owned and used
// by the rank's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checked_memory.h"
#include "collective.h"
#include "report.h"

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
  Verifier(const CollectiveKind& collective, const CheckedBuffers& buffers, std::unique_ptr<CheckedMemory> memory)
      : collective_(collective), buffers_(buffers), memory_(std::move(memory)) {}

  int rank() const { return buffers_.rank; }
  // Fills the buffers.
  void prepare(const CheckedCase& checked);
  // After the operation: how much is wrong: elements of the result, changed elements of the send buffer, damaged
  // guards. `first` says what the first of them is.
  size_t countWrong(const CheckedCase& checked, std::string* first);

 private:
  void buildPatterns(const CheckedCase& checked);
  void fill(char* buffer, const CheckedCase& checked);
  size_t compare(const char* buffer, const Pattern& expected, const Recipe& recipe, const CheckedCase& checked,
                 const char* what, std::string* first);
  size_t compareGuard(const char* guard, const char* what, std::string* first);
  const char* fetch(const char* from, size_t bytes);

  const CollectiveKind& collective_;
  CheckedBuffers buffers_;
  std::unique_ptr<CheckedMemory> memory_;
  Recipe built_recipe_;
  int built_root_ = -2;  // none yet
  Pattern input_;
  Pattern expected_;
  std::vector<char> staging_;
};

// A line on stderr about wrong results of one rank; the first few only. Any thread.
void tellWrong(const CollectiveKind& collective, const Case& what, const CheckedCase& checked, int rank, size_t wrong,
               const std::string& first);

}  // namespace perf
