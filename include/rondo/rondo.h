// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What Rondo offers beyond NCCL's API. It includes the API of the vendor the program is built for: RCCL's spelling where
// the HIP compiler's platform macro is defined, NCCL's otherwise (CUDA and the emulated device).
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

#ifdef __cplusplus
}
#endif

#endif
