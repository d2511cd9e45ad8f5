// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Rondo's C API for HIP programs: the names, types and values of RCCL's interface. Include nccl.h in CUDA programs.
#ifndef RONDO_RCCL_H_
#define RONDO_RCCL_H_

#include <hip/hip_runtime_api.h>

#define RONDO_STREAM hipStream_t
#include <rondo/detail/nccl_api.h>

#endif
