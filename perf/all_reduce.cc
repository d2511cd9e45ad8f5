// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "collective.h"

namespace {

class AllReduce : public perf::Collective {
 public:
  const char* name() const override { return "all_reduce"; }
  bool hasOp() const override { return true; }
  bool hasRoot() const override { return false; }
  double busFactor(int ranks) const override { return 2.0 * (ranks - 1) / ranks; }

  void fillExpected(const perf::Recipe& recipe, int, void* out) const override { perf::fillReduced(recipe, out); }

  ncclResult_t enqueue(const perf::Call& call) const override {
    return ncclAllReduce(call.send, call.recv, call.count, call.type, call.op, call.comm, call.stream);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runProgram(argc, argv, AllReduce());
}
