// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Makes a communicator of the processes of an MPI communicator. Inline, compiled by the program's own MPI compiler, so
// that one build of Rondo works with every MPI (3.0 or later). C11 and C++17.
#ifndef RONDO_MPI_H_
#define RONDO_MPI_H_

#include <mpi.h>
#include <rondo/rondo.h>

typedef struct {
  MPI_Comm comm;
  int ranks;
  char text[MPI_MAX_ERROR_STRING + 1];
} rondoMpiContext_t;

// One call moves about this much, as counts and the sums that an MPI makes of them are ints. Larger exchanges go in
// parts: of each rank's bytes a run, received with the stride of the whole.
#ifndef RONDO_MPI_EXCHANGE_BYTES
#define RONDO_MPI_EXCHANGE_BYTES ((size_t)1 << 30)
#endif

static inline int rondoMpiAllGather(void* context, void* all, size_t bytesPerRank) {
  const rondoMpiContext_t* mpi = (const rondoMpiContext_t*)context;
  const size_t most = RONDO_MPI_EXCHANGE_BYTES / (size_t)mpi->ranks + 1;
  if (bytesPerRank <= most)
    return MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)bytesPerRank, MPI_BYTE, mpi->comm);
  for (size_t done = 0; done < bytesPerRank; done += most) {
    const size_t part = bytesPerRank - done < most ? bytesPerRank - done : most;
    MPI_Datatype run, strided;
    int error = MPI_Type_contiguous((int)part, MPI_BYTE, &run);
    if (error != MPI_SUCCESS) return error;
    error = MPI_Type_create_resized(run, 0, (MPI_Aint)bytesPerRank, &strided);
    MPI_Type_free(&run);
    if (error != MPI_SUCCESS) return error;
    error = MPI_Type_commit(&strided);
    if (error == MPI_SUCCESS)
      error = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (char*)all + done, 1, strided, mpi->comm);
    MPI_Type_free(&strided);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

static inline const char* rondoMpiErrorText(void* context, int code) {
  rondoMpiContext_t* mpi = (rondoMpiContext_t*)context;
  int length = 0;
  if (MPI_Error_string(code, mpi->text, &length) != MPI_SUCCESS) return NULL;
  mpi->text[length] = '\0';
  return mpi->text;
}

/*
 * Makes the communicator of the processes of mpi, with their ranks there, on each process's current device. Collective
 * over mpi, an intracommunicator, which is used for one MPI_Allgather, by the calling thread, before the function
 * returns; MPI is never called again, and may be finalized before the communicator is destroyed. One rank per process:
 * within a process with several ranks, or in a group, use ncclCommInitRank and broadcast the unique id.
 *
 * As rondoCommInitWith, whose errors these are; in addition ncclInvalidArgument when mpi is MPI_COMM_NULL or an
 * intercommunicator, and ncclInvalidUsage when MPI is not initialized or is finalized. A failing MPI_Allgather is
 * ncclRemoteError, whatever error handler mpi has. A process that dies before the MPI_Allgather is MPI's to notice.
 */
static inline ncclResult_t rondoCommInitMpi(ncclComm_t* comm, MPI_Comm mpi, ncclConfig_t* config) {
  int initialized = 0, finalized = 0, inter = 0, rank = 0;
  if (comm == NULL) return rondoReportError(ncclInvalidArgument, "rondoCommInitMpi: comm is NULL");
  *comm = NULL;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    return rondoReportError(ncclInvalidUsage, initialized
                                                  ? "rondoCommInitMpi: MPI is finalized"
                                                  : "rondoCommInitMpi: MPI is not initialized: call MPI_Init before");
  if (mpi == MPI_COMM_NULL) return rondoReportError(ncclInvalidArgument, "rondoCommInitMpi: mpi is MPI_COMM_NULL");
  MPI_Comm_test_inter(mpi, &inter);
  if (inter)
    return rondoReportError(ncclInvalidArgument,
                            "rondoCommInitMpi: mpi is an intercommunicator: must be an intracommunicator "
                            "(MPI_Intercomm_merge makes one)");
  rondoMpiContext_t context;
  context.comm = mpi;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &context.ranks);
  const rondoBootstrap_t bootstrap = {sizeof(rondoBootstrap_t), &context, rondoMpiAllGather, rondoMpiErrorText};
  // MPI's default is to end the program; here the caller gets the error.
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(mpi, &handler);
  MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
  const ncclResult_t result = rondoCommInitWith(comm, context.ranks, rank, &bootstrap, config);
  MPI_Comm_set_errhandler(mpi, handler);
  if (handler != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler);
  return result;
}

#endif
