// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The launcher of a program that mpirun or srun starts. MPI is used for the id, barriers and reductions of a few
// numbers, by the main thread, never while an operation is in flight. A wait in MPI ends when a communicator has
// failed: the process it waits for may be dead.
#pragma once

#include <memory>

#include "launcher.h"

namespace perf {

// Starts MPI, which is finalized with the launcher.
std::unique_ptr<Launcher> makeMpiLauncher();

}  // namespace perf
