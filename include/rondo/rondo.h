// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What Rondo offers beyond NCCL's API. It includes the API of the vendor the program is built for: RCCL's spelling
// where the HIP compiler's platform macro is defined, NCCL's otherwise (CUDA and the emulated device).
#ifndef RONDO_RONDO_H_
#define RONDO_RONDO_H_

#if defined(__HIP_PLATFORM_AMD__)
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 1
#define RONDO_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Rondo's own version text, such as "0.1.0 (emu)". ncclGetVersion returns the NCCL version whose API this is. */
const char* rondoVersionString(void);

/*
 * How the ranks of a communicator find each other by the program's own means instead of a unique id: MPI (rondo/mpi.h),
 * a key-value store, a job manager. Fill size and what is known; fields that are not known to the program's header are
 * NULL.
 */
typedef struct {
  size_t size;   /* sizeof(rondoBootstrap_t) */
  void* context; /* handed to the functions */

  /*
   * A collective exchange: all holds bytesPerRank bytes of each rank, in the order of the ranks; the caller's own are
   * filled in, the function fills in the others'. The same bytesPerRank on every rank, less than 2 KiB. Returns 0, or
   * any other number when it failed. Must not throw.
   */
  int (*allGather)(void* context, void* all, size_t bytesPerRank);

  /* What a number that allGather returned means; valid until the next call. May be NULL, may return NULL. */
  const char* (*errorText)(void* context, int code);
} rondoBootstrap_t;

/*
 * Makes the communicator of ranks 0 to nranks - 1 on the current device, as ncclCommInitRankConfig does, but the ranks
 * find each other through bootstrap. Collective: every rank calls it, each with its own rank, and all enter allGather
 * once. Its functions are called only before this function returns, and only on the calling thread; the struct is not
 * needed afterwards. From there on the ranks talk over connections of their own (NCCL_SOCKET_IFNAME,
 * NCCL_SOCKET_FAMILY), so a rank that dies is noticed. config may be NULL. Because the calling thread does the work,
 * config.blocking = 0 (the later calls of the communicator do not block) does not make this call return earlier.
 *
 * ncclInvalidArgument: a NULL pointer, rank or nranks out of range, a wrong size. ncclInvalidUsage: inside a group
 * (ncclGroupStart), or ranks that do not fit together. ncclRemoteError: allGather failed (the number is in the text),
 * or another rank failed or died. ncclSystemError: the network. *comm is NULL then, and ncclGetLastError has the text.
 */
ncclResult_t rondoCommInitWith(ncclComm_t* comm, int nranks, int rank, const rondoBootstrap_t* bootstrap,
                               ncclConfig_t* config);

/*
 * For adapters such as rondo/mpi.h: what the adapter itself found wrong. The text becomes the last error and a warning
 * in the log, and an open group fails. Returns code, or ncclInternalError if that is no error.
 */
ncclResult_t rondoReportError(ncclResult_t code, const char* text);

#ifdef __cplusplus
}
#endif

#endif
