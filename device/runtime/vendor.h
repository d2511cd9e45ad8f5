// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Selects the vendor layer: namespace rondo::runtime::vendor, thin inline wrappers with the same names and meanings for
// each vendor, so that the files beside this one are written once. Included by those files only. The emulated device
// speaks CUDA.
#pragma once

#if defined(RONDO_TARGET_HIP)
#include "device/runtime/hip/vendor.h"
#elif defined(RONDO_TARGET_CUDA) || defined(RONDO_TARGET_EMU)
#include "device/runtime/cuda/vendor.h"
#else
#error "no device target: define RONDO_TARGET_CUDA, RONDO_TARGET_HIP or RONDO_TARGET_EMU"
#endif

namespace rondo::runtime::vendor {
#if defined(RONDO_TARGET_EMU)
constexpr bool kIsEmulated = true;
#else
constexpr bool kIsEmulated = false;
#endif
}  // namespace rondo::runtime::vendor
