// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// From each thread's time to the time of a line. Every thread of the run calls combineTimes alike.
#pragma once

#include "options.h"
#include "report.h"
#include "team.h"

namespace perf {

// Of one operation.
struct Elapsed {
  double wall_us;
  double launch_us;
};

Elapsed combineTimes(TimeOver over, Team& team, int thread, Elapsed mine);
void addTimes(Measurement& result, uint64_t bytes, Elapsed elapsed, double bus_factor);

}  // namespace perf
