// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Reads ncclConfig_t: a struct that grows with NCCL's versions, so only what the caller's version has is looked at.
#pragma once

#include "src/comm/communicator.h"

namespace rondo {

// config may be NULL. Throws Error(ncclInvalidArgument) naming the field, its value and range.
CommConfig readConfig(const ncclConfig_t* config);

}  // namespace rondo
