// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The rules of a broadcast, whoever carries it out: Base is Collective or another CollectiveKind. Stateless.
#pragma once

#include "collective.h"

namespace perf {

template <class Base>
class BroadcastRules : public Base {
 public:
  const char* name() const override { return "broadcast"; }
  bool hasOp() const override { return false; }
  bool hasRoot() const override { return true; }
  double busFactor(int) const override { return 1.0; }
  void fillExpected(const Recipe& recipe, int root, void* out) const override { fillInput(recipe, root, out); }
};

}  // namespace perf
