// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "all_reduce.h"

namespace {

class AllReduce : public perf::AllReduceRules<perf::Collective> {
 public:
  ncclResult_t enqueue(const perf::Call& call) const override {
    return ncclAllReduce(call.send, call.recv, call.count, call.type, call.op, call.comm, call.stream);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runProgram(argc, argv, AllReduce());
}
