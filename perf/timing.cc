// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "timing.h"

namespace perf {

Elapsed combineTimes(TimeOver over, Team& team, int thread, Elapsed mine) {
  double times[] = {mine.wall_us, mine.launch_us};
  switch (over) {
    case TimeOver::Rank0:
      if (thread != 0 || team.launcher().process() != 0) times[0] = times[1] = 0;
      team.reduce(thread, times, Reduce::Sum);
      break;
    case TimeOver::Average:
      for (double& time : times) time /= team.threads() * team.launcher().processes();
      team.reduce(thread, times, Reduce::Sum);
      break;
    case TimeOver::Min:
      team.reduce(thread, times, Reduce::Min);
      break;
    case TimeOver::Max:
      team.reduce(thread, times, Reduce::Max);
      break;
  }
  return {times[0], times[1]};
}

void addTimes(Measurement& result, uint64_t bytes, Elapsed elapsed, double bus_factor) {
  result.timed = true;
  result.time_us = elapsed.wall_us;
  result.cpu_us = elapsed.launch_us;
  // Bytes per microsecond are 1e6 bytes/s.
  result.alg_gbps = elapsed.wall_us > 0 ? static_cast<double>(bytes) / elapsed.wall_us / 1e3 : 0;
  result.bus_gbps = result.alg_gbps * bus_factor;
}

}  // namespace perf
