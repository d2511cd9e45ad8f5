// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// rondo/mpi.h as a C program uses it, under mpirun with any number of processes. Prints "init_mpi: all right" once.
#define RONDO_MPI_EXCHANGE_BYTES ((size_t)1000)  // so that the exchange in parts is tried with little memory
#include <rondo/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int worldRank = 0, worldSize = 1;

#define CHECK(condition)                                                                                              \
  do {                                                                                                                \
    if (!(condition)) {                                                                                               \
      fprintf(stderr, "%s:%d: process %d: not true: %s; last error: %s\n", __FILE__, __LINE__, worldRank, #condition, \
              ncclGetLastError(NULL));                                                                                \
      fflush(stderr);                                                                                                 \
      abort();                                                                                                        \
    }                                                                                                                 \
  } while (0)

// The sum of (place + 1) over the communicator's ranks, which tells that all take part.
static void checkSum(ncclComm_t comm, int rank, int ranks) {
  int count = 0, user = -1;
  int value = rank + 1;
  int* data = NULL;
  cudaStream_t stream;
  CHECK(ncclCommCount(comm, &count) == ncclSuccess && count == ranks);
  CHECK(ncclCommUserRank(comm, &user) == ncclSuccess && user == rank);
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudaMalloc((void**)&data, sizeof(int)) == cudaSuccess);
  CHECK(cudaMemcpy(data, &value, sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream) == ncclSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaMemcpy(&value, data, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(value == ranks * (ranks + 1) / 2);
  CHECK(cudaFree(data) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

static void checkPart(int color, int key) {
  MPI_Comm part;
  int rank = 0, ranks = 0;
  ncclComm_t comm = NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &part);
  MPI_Comm_rank(part, &rank);
  MPI_Comm_size(part, &ranks);
  CHECK(rondoCommInitMpi(&comm, part, NULL) == ncclSuccess);
  MPI_Comm_free(&part);
  checkSum(comm, rank, ranks);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

static void checkLongExchange(size_t bytes) {
  const rondoMpiContext_t context = {MPI_COMM_WORLD, worldSize, ""};
  unsigned char* all = malloc(bytes * (size_t)worldSize + 1);
  CHECK(all != NULL);
  memset(all, 0, bytes * (size_t)worldSize + 1);
  for (size_t i = 0; i < bytes; ++i)
    all[(size_t)worldRank * bytes + i] = (unsigned char)((size_t)worldRank * 7 + i % 251 + 1);
  CHECK(rondoMpiAllGather((void*)&context, all, bytes) == MPI_SUCCESS);
  for (int rank = 0; rank < worldSize; ++rank)
    for (size_t i = 0; i < bytes; ++i)
      CHECK(all[(size_t)rank * bytes + i] == (unsigned char)((size_t)rank * 7 + i % 251 + 1));
  CHECK(all[bytes * (size_t)worldSize] == 0);
  free(all);
}

static void checkWrongArguments(void) {
  ncclComm_t comm = (ncclComm_t)1;
  CHECK(rondoCommInitMpi(NULL, MPI_COMM_WORLD, NULL) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "comm is NULL") != NULL);
  CHECK(rondoCommInitMpi(&comm, MPI_COMM_NULL, NULL) == ncclInvalidArgument && comm == NULL);
  CHECK(strstr(ncclGetLastError(NULL), "MPI_COMM_NULL") != NULL);
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(rondoCommInitMpi(&comm, MPI_COMM_WORLD, NULL) == ncclInvalidUsage);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  if (worldSize < 2) return;
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, worldRank == 0, worldRank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, worldRank == 0 ? 1 : 0, 5, &inter);
  CHECK(rondoCommInitMpi(&comm, inter, NULL) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "intercommunicator") != NULL);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void onMpiError(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
}

// The caller's error handler is as before.
static ncclComm_t initWithHandler(void) {
  MPI_Errhandler mine, after;
  MPI_Comm_create_errhandler(onMpiError, &mine);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = NULL;
  ncclResult_t state = ncclInternalError;
  CHECK(rondoCommInitMpi(&comm, MPI_COMM_WORLD, &config) == ncclSuccess);
  CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclSuccess);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  CHECK(after == mine);
  MPI_Errhandler_free(&after);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&mine);
  return comm;
}

int main(int argc, char** argv) {
  ncclComm_t early = NULL;
  CHECK(rondoCommInitMpi(&early, MPI_COMM_WORLD, NULL) == ncclInvalidUsage && early == NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &worldRank);
  MPI_Comm_size(MPI_COMM_WORLD, &worldSize);
  checkWrongArguments();
  checkLongExchange(1);
  checkLongExchange(4321);
  checkPart(worldRank % 2, worldRank);
  checkPart(0, -worldRank);  // the other way round
  ncclComm_t comm = initWithHandler();
  MPI_Finalize();
  CHECK(rondoCommInitMpi(&early, MPI_COMM_WORLD, NULL) == ncclInvalidUsage);
  // What is made lives without MPI.
  checkSum(comm, worldRank, worldSize);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
  if (worldRank == 0) puts("init_mpi: all right");
  return 0;
}
