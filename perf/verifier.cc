// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "verifier.h"

#include <algorithm>
#include <cstring>

#include "check.h"

namespace perf {
namespace {

constexpr int kGuardByte = 0xc5;
// What the receive buffer holds before: no result is left over from the run before.
constexpr int kStaleByte = 0xa6;

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
  input_.build(checked.element_bytes, [&](char* out) { fillInput(checked.recipe, rank_.rank, out); });
  expected_.build(checked.element_bytes,
                  [&](char* out) { collective_.fillExpected(checked.recipe, checked.root, out); });
  built_root_ = checked.root;
  built_recipe_ = checked.recipe;
}

void Verifier::fill(char* device, const CheckedCase& checked) {
  const size_t piece = Pattern::kPieceBytes / checked.element_bytes;
  for (size_t index = 0; index < checked.count; index += piece) {
    const size_t bytes = std::min(piece, checked.count - index) * checked.element_bytes;
    PERF_GPU(cudaMemcpyAsync(device + index * checked.element_bytes, input_.at(index), bytes, cudaMemcpyHostToDevice,
                             rank_.stream));
  }
}

void Verifier::prepare(const CheckedCase& checked) {
  buildPatterns(checked);
  const size_t bytes = checked.count * checked.element_bytes;
  PERF_GPU(cudaSetDevice(rank_.device));
  PERF_GPU(cudaMemsetAsync(rank_.recv_allocation, kGuardByte, kGuardBytes, rank_.stream));
  PERF_GPU(cudaMemsetAsync(rank_.recv() + bytes, kGuardByte, kGuardBytes, rank_.stream));
  if (checked.in_place) {
    fill(rank_.recv(), checked);
  } else {
    fill(rank_.send, checked);
    if (bytes) PERF_GPU(cudaMemsetAsync(rank_.recv(), kStaleByte, bytes, rank_.stream));
  }
}

const char* Verifier::fetch(const char* device, size_t bytes) {
  if (staging_.size() < bytes) staging_.resize(bytes);
  PERF_GPU(cudaMemcpyAsync(staging_.data(), device, bytes, cudaMemcpyDeviceToHost, rank_.stream));
  PERF_GPU(cudaStreamSynchronize(rank_.stream));
  return staging_.data();
}

size_t Verifier::compare(const char* device, const Pattern& expected, const Recipe& recipe, const CheckedCase& checked,
                         const char* what, std::string* first) {
  const size_t piece = Pattern::kPieceBytes / checked.element_bytes;
  size_t wrong = 0;
  for (size_t index = 0; index < checked.count; index += piece) {
    const size_t count = std::min(piece, checked.count - index);
    const char* got = fetch(device + index * checked.element_bytes, count * checked.element_bytes);
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

size_t Verifier::compareGuard(const char* device, const char* what, std::string* first) {
  const char* got = fetch(device, kGuardBytes);
  for (size_t i = 0; i < kGuardBytes; ++i) {
    if (static_cast<unsigned char>(got[i]) == kGuardByte) continue;
    if (first->empty()) *first = fmt::format("byte {} of the guard {} the receive buffer was overwritten", i, what);
    return 1;
  }
  return 0;
}

size_t Verifier::countWrong(const CheckedCase& checked, std::string* first) {
  PERF_GPU(cudaSetDevice(rank_.device));
  const size_t bytes = checked.count * checked.element_bytes;
  size_t wrong = compare(rank_.recv(), expected_, checked.recipe, checked, "result", first);
  if (!checked.in_place) {
    // Exactly what was put in: no rounding of an average applies.
    Recipe exact = checked.recipe;
    exact.op = Op::None;
    wrong += compare(rank_.send, input_, exact, checked, "send buffer", first);
  }
  wrong += compareGuard(rank_.recv_allocation, "before", first);
  wrong += compareGuard(rank_.recv() + bytes, "after", first);
  return wrong;
}

}  // namespace perf
