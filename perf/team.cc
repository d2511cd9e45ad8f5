// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "team.h"

#include <algorithm>

namespace perf {

Team::Team(Launcher& launcher, int threads)
    : launcher_(launcher), gate_(threads), values_(static_cast<size_t>(threads)) {}

void Team::barrier(int thread) {
  gate_.arrive_and_wait();
  if (thread == 0) launcher_.barrier();
  gate_.arrive_and_wait();
}

void Team::reduce(int thread, std::span<double> values, Reduce kind) {
  values_[static_cast<size_t>(thread)] = values;
  gate_.arrive_and_wait();
  if (thread == 0) combine(kind);
  gate_.arrive_and_wait();
}

void Team::combine(Reduce kind) {
  const std::span<double> result = values_[0];
  for (size_t thread = 1; thread < values_.size(); ++thread) {
    for (size_t i = 0; i < result.size(); ++i) {
      const double value = values_[thread][i];
      switch (kind) {
        case Reduce::Sum:
          result[i] += value;
          break;
        case Reduce::Min:
          result[i] = std::min(result[i], value);
          break;
        case Reduce::Max:
          result[i] = std::max(result[i], value);
          break;
      }
    }
  }
  launcher_.reduce(result, kind);
  for (size_t thread = 1; thread < values_.size(); ++thread) {
    std::copy(result.begin(), result.end(), values_[thread].begin());
  }
}

}  // namespace perf
