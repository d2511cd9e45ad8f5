// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The other name under which programs include the runtime API.
#ifndef RONDO_EMU_CUDA_RUNTIME_API_H_
#define RONDO_EMU_CUDA_RUNTIME_API_H_

#include "cuda_runtime.h"

#endif
