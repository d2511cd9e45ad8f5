// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The rules of an allreduce, whoever carries it out: Base is Collective or another CollectiveKind. Stateless.
#pragma once

#include "collective.h"

namespace perf {

template <class Base>
class AllReduceRules : public Base {
 public:
  const char* name() const override { return "all_reduce"; }
  bool hasOp() const override { return true; }
  bool hasRoot() const override { return false; }
  double busFactor(int ranks) const override { return 2.0 * (ranks - 1) / ranks; }
  void fillExpected(const Recipe& recipe, int, void* out) const override { fillReduced(recipe, out); }
};

}  // namespace perf
