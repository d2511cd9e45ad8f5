// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "broadcast.h"

namespace {

class Broadcast : public perf::BroadcastRules<perf::Collective> {
 public:
  ncclResult_t enqueue(const perf::Call& call) const override {
    return ncclBroadcast(call.send, call.recv, call.count, call.type, call.root, call.comm, call.stream);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runProgram(argc, argv, Broadcast());
}
