// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Rondo's C API for CUDA programs: the names, types and values of NCCL 2.28.9, so that a program written for NCCL
// compiles and links unchanged. Include rccl/rccl.h instead in HIP programs.
#ifndef RONDO_NCCL_H_
#define RONDO_NCCL_H_

#include <cuda_runtime.h>

#define RONDO_STREAM cudaStream_t
#include <rondo/detail/nccl_api.h>

#endif
