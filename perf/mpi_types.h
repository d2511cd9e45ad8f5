// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// MPI's names for the element types and reductions. Pure functions, any thread.
#pragma once

#include <mpi.h>

#include <vector>

#include "types.h"

namespace perf {

// A type of the same width where MPI has none and nothing is reduced.
MPI_Datatype mpiTypeOf(const TypeInfo& type);
MPI_Op mpiOpOf(const OpInfo& op);

// What MPI can do of it. Throws UsageError when nothing remains.
std::vector<TypeInfo> keepMpiTypes(const std::vector<TypeInfo>& types, bool reduces);
std::vector<OpInfo> keepMpiOps(const std::vector<OpInfo>& ops);

}  // namespace perf
