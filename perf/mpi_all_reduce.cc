// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "all_reduce.h"
#include "mpi_collective.h"

namespace {

class MpiAllReduce : public perf::AllReduceRules<perf::MpiCollective> {
 public:
  const char* name() const override { return "mpi_all_reduce"; }

  void call(const perf::MpiCall& call) const override {
    MPI_Allreduce(call.in_place ? MPI_IN_PLACE : call.send, call.recv, call.count, call.type, call.op, MPI_COMM_WORLD);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runMpiProgram(argc, argv, MpiAllReduce());
}
