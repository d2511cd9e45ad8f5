// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One collective of MPI, for the programs that measure MPI beside the library. Stateless. Its main function is
// `return perf::runMpiProgram(argc, argv, collective)`.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "collective.h"

namespace perf {

struct MpiCall {
  char* send;
  char* recv;
  bool in_place;  // the operands lie in recv
  int count;
  size_t bytes;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  int rank;
};

class MpiCollective : public CollectiveKind {
 public:
  // Blocks until this rank's buffers are done with.
  virtual void call(const MpiCall& call) const = 0;
};

int runMpiProgram(int argc, char** argv, const MpiCollective& collective);

}  // namespace perf
