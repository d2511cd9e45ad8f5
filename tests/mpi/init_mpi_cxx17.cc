// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// rondo/mpi.h is C++17, too. Compiled only.
#include <rondo/mpi.h>

static_assert(__cplusplus == 201703L);

ncclResult_t initMpiCxx17(ncclComm_t* comm) {
  return rondoCommInitMpi(comm, MPI_COMM_WORLD, nullptr);
}
