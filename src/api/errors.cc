// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "rondo/rondo.h"
#include "src/api/guard.h"

RONDO_API const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the Rondo developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "operation in progress";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}

// Of the process, as NCCL has it; comm may be NULL.
RONDO_API const char* ncclGetLastError(ncclComm_t /*comm*/) { return rondo::lastError(); }

// RONDO_DEVICE_NAME is the build's: cuda, hip or emu.
RONDO_API const char* rondoVersionString(void) { return RONDO_VERSION_TEXT " (" RONDO_DEVICE_NAME ")"; }
