// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The launcher of a program that mpirun or srun starts. MPI is used for the id, barriers and reductions of a few
// numbers, by the main thread, never while an operation is in flight.
#pragma once

#include <memory>

#include "launcher.h"

namespace perf {

// Starts MPI, which is finalized with the launcher.
std::unique_ptr<Launcher> makeMpiLauncher();

}  // namespace perf
