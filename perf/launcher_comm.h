// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The launcher of a program that is started once per process by hand: NCCL_COMM_ID says where they meet, and after that
// the communicator under test itself carries barriers and reductions, on a stream and a buffer of their own.
#pragma once

#include <memory>

#include "launcher.h"

namespace perf {

std::unique_ptr<Launcher> makeCommLauncher(int process, int processes, int local_process);

}  // namespace perf
