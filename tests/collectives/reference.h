// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a collective must produce, computed without any code of the library: elements are small whole numbers, so every
// order of operations is exact in every type, and conversions use the compiler's own types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::reference {

constexpr ncclDataType_t kTypes[] = {ncclInt8,  ncclUint8,   ncclInt32,   ncclUint32,  ncclInt64,
                                     ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16};
constexpr ncclRedOp_t kOps[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

size_t elementBytes(ncclDataType_t type);

// Rank r's contribution: count elements. seed makes calls differ.
std::vector<char> input(ncclDataType_t type, ncclRedOp_t op, int rank, size_t count, unsigned seed);

// The allreduce of all ranks' inputs.
std::vector<char> reduced(ncclDataType_t type, ncclRedOp_t op, int ranks, size_t count, unsigned seed);

// "" or the first difference. Averages of floats may differ by 2 units in the last place (1/ranks is rounded), everything
// else must be equal bit for bit.
std::string compare(ncclDataType_t type, ncclRedOp_t op, const std::vector<char>& got, const std::vector<char>& wanted);

}  // namespace rondo::reference
