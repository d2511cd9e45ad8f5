// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The API that nccl.h and rccl/rccl.h share. RONDO_STREAM is the vendor's stream type. Names, types and values follow
// NCCL 2.28.9 (NVIDIA, "NCCL API", docs.nvidia.com/deeplearning/nccl); the text is Rondo's. C11 and C++17.
//
// Every function returns ncclSuccess or says in ncclGetLastError what was wrong, where and what is allowed. Every
// function may be called by any thread at any time, also on one communicator.
#ifndef RONDO_DETAIL_NCCL_API_H_
#define RONDO_DETAIL_NCCL_API_H_

#include <limits.h>
#include <stddef.h>

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 22809
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#define NCCL_COMM_NULL NULL
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR (-1)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm* ncclComm_t;

/* Where to meet: made by one process with ncclGetUniqueId, handed to all ranks by the program's own means. */
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1, /* a call of the GPU runtime failed */
  ncclSystemError = 2,        /* a system call failed: network, memory, shared memory */
  ncclInternalError = 3,      /* a fault of Rondo's own */
  ncclInvalidArgument = 4,    /* an argument or a variable's value is outside its range */
  ncclInvalidUsage = 5,       /* calls that do not fit together, also between ranks */
  ncclRemoteError = 6,        /* another rank failed, or its process is gone */
  ncclInProgress = 7,         /* a non-blocking communicator has not finished its last request */
  ncclNumResults = 8
} ncclResult_t;

/* Options of one communicator; start from NCCL_CONFIG_INITIALIZER. Fields left undefined take the default. */
typedef struct ncclConfig_v22800 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;       /* 1 (default): calls return when done; 0: they return ncclInProgress */
  int cgaClusterSize; /* accepted, not used */
  int minCTAs;        /* least number of channels, 1 to 64 */
  int maxCTAs;        /* greatest number of channels, 1 to 64 */
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                             \
  {                                                                                                         \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),                      \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          \
        NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR,          \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,          \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT                                                         \
  }

typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4, /* floats: each contribution times 1/ranks, then summed; integers: summed modulo 2^bits, then divided */
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/* The NCCL version whose API this is, as NCCL_VERSION encodes it: 22809. */
ncclResult_t ncclGetVersion(int* version);

/* A text for a result code; never NULL. */
const char* ncclGetErrorString(ncclResult_t result);

/* The text of the last error of this process; "" when there was none. comm may be NULL. */
const char* ncclGetLastError(ncclComm_t comm);

/* Opens a meeting point in this process and writes its address. Each id makes one communicator. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);

/* Makes this process rank 'rank' (0 to nranks-1) of a new communicator on the current device. Waits for all ranks
 * unless config->blocking is 0. Several ranks may share a device. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);

/* One process, ndev ranks: rank i on device devlist[i] (device i when devlist is NULL); comm has ndev entries. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/* Finalize waits for what was enqueued; Destroy does the same and frees. Both wait until every rank has called them;
 * in a process with several ranks of one communicator the last call waits. Abort ends running kernels at once. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

/* The communicator's first error, or ncclInProgress, or ncclSuccess. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);

/* Between these, calls of one thread are collected and take effect together at the outermost GroupEnd. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* Collectives: enqueued on the stream, which orders them. count is in elements; buffers are device memory, aligned to
 * nothing more than a byte. In place: sendbuff == recvbuff. */
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, RONDO_STREAM stream);
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       RONDO_STREAM stream);
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, RONDO_STREAM stream);

#ifdef __cplusplus
}
#endif

#endif
