// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

namespace perf {
namespace {

constexpr int kGuardByte = 0xc5;
// What the receive buffer holds before: no result is left over from the run before.
constexpr int kStaleByte = 0xa6;
// More lines than this about wrong results help nobody.
constexpr int kMostTold = 8;

std::string formatElement(const char* element, size_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, bytes);
  return fmt::format("0x{:0{}x}", bits, 2 * bytes);
}

}  // namespace

template <class Fill>
void Pattern::build(size_t element_bytes, Fill fill) {
  element_bytes_ = element_bytes;
  const size_t period_bytes = kPeriod * element_bytes;
  bytes_.resize(period_bytes + kPieceBytes);
  fill(bytes_.data());
  for (size_t at = period_bytes; at < bytes_.size(); at += period_bytes) {
    std::memcpy(bytes_.data() + at, bytes_.data(), std::min(period_bytes, bytes_.size() - at));
  }
}

void Verifier::buildPatterns(const CheckedCase& checked) {
  if (checked.root == built_root_ && checked.recipe == built_recipe_) return;
  input_.build(checked.element_bytes, [&](char* out) { fillInput(checked.recipe, buffers_.rank, out); });
  expected_.build(checked.element_bytes,
                  [&](char* out) { collective_.fillExpected(checked.recipe, checked.root, out); });
  built_root_ = checked.root;
  built_recipe_ = checked.recipe;
}

void Verifier::fill(char* buffer, const CheckedCase& checked) {
  const size_t piece = Pattern::kPieceBytes / checked.element_bytes;
  for (size_t index = 0; index < checked.count; index += piece) {
    const size_t bytes = std::min(piece, checked.count - index) * checked.element_bytes;
    memory_->put(buffer + index * checked.element_bytes, input_.at(index), bytes);
  }
}

void Verifier::prepare(const CheckedCase& checked) {
  buildPatterns(checked);
  const size_t bytes = checked.count * checked.element_bytes;
  memory_->fill(buffers_.recv - kGuardBytes, kGuardByte, kGuardBytes);
  memory_->fill(buffers_.recv + bytes, kGuardByte, kGuardBytes);
  if (checked.in_place) {
    fill(buffers_.recv, checked);
  } else {
    fill(buffers_.send, checked);
    if (bytes) memory_->fill(buffers_.recv, kStaleByte, bytes);
  }
}

const char* Verifier::fetch(const char* from, size_t bytes) {
  if (staging_.size() < bytes) staging_.resize(bytes);
  memory_->get(staging_.data(), from, bytes);
  return staging_.data();
}

size_t Verifier::compare(const char* buffer, const Pattern& expected, const Recipe& recipe, const CheckedCase& checked,
                         const char* what, std::string* first) {
  const size_t piece = Pattern::kPieceBytes / checked.element_bytes;
  size_t wrong = 0;
  for (size_t index = 0; index < checked.count; index += piece) {
    const size_t count = std::min(piece, checked.count - index);
    const char* got = fetch(buffer + index * checked.element_bytes, count * checked.element_bytes);
    size_t at = 0;
    const size_t found = perf::countWrong(recipe, got, expected.at(index), count, &at);
    if (found && first->empty()) {
      const size_t offset = at * checked.element_bytes;
      *first = fmt::format("element {} of the {} is {}, expected {}", index + at, what,
                           formatElement(got + offset, checked.element_bytes),
                           formatElement(expected.at(index) + offset, checked.element_bytes));
    }
    wrong += found;
  }
  return wrong;
}

size_t Verifier::compareGuard(const char* guard, const char* what, std::string* first) {
  const char* got = fetch(guard, kGuardBytes);
  for (size_t i = 0; i < kGuardBytes; ++i) {
    if (static_cast<unsigned char>(got[i]) == kGuardByte) continue;
    if (first->empty()) *first = fmt::format("byte {} of the guard {} the receive buffer was overwritten", i, what);
    return 1;
  }
  return 0;
}

size_t Verifier::countWrong(const CheckedCase& checked, std::string* first) {
  const size_t bytes = checked.count * checked.element_bytes;
  size_t wrong = compare(buffers_.recv, expected_, checked.recipe, checked, "result", first);
  if (!checked.in_place) {
    // Exactly what was put in: no rounding of an average applies.
    Recipe exact = checked.recipe;
    exact.op = Op::None;
    wrong += compare(buffers_.send, input_, exact, checked, "send buffer", first);
  }
  wrong += compareGuard(buffers_.recv - kGuardBytes, "before", first);
  wrong += compareGuard(buffers_.recv + bytes, "after", first);
  return wrong;
}

void tellWrong(const CollectiveKind& collective, const Case& what, const CheckedCase& checked, int rank, size_t wrong,
               const std::string& first) {
  static std::atomic<int> told = 0;
  if (told.fetch_add(1) >= kMostTold) return;
  std::fputs(
      fmt::format("# rank {}: {} {} {} root {}, {} bytes, {}: {} wrong; {}\n", rank, collective.name(), what.type.name,
                  what.op.name, what.root, what.bytes(), checked.in_place ? "in-place" : "out-of-place", wrong, first)
          .c_str(),
      stderr);
}

}  // namespace perf
