// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "collective.h"

namespace {

class Broadcast : public perf::Collective {
 public:
  const char* name() const override { return "broadcast"; }
  bool hasOp() const override { return false; }
  bool hasRoot() const override { return true; }
  double busFactor(int) const override { return 1.0; }

  void fillExpected(const perf::Recipe& recipe, int root, void* out) const override {
    perf::fillInput(recipe, root, out);
  }

  ncclResult_t enqueue(const perf::Call& call) const override {
    return ncclBroadcast(call.send, call.recv, call.count, call.type, call.root, call.comm, call.stream);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runProgram(argc, argv, Broadcast());
}
