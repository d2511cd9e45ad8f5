// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The name under which HIP programs include the runtime. Kernels are launched through the library only.
#ifndef RONDO_EMU_HIP_HIP_RUNTIME_H_
#define RONDO_EMU_HIP_HIP_RUNTIME_H_

#include "hip_runtime_api.h"

#endif
