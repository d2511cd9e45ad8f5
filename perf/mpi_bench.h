// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Measures and checks a collective of MPI as Bench does one of the library: the same loop, the same buffers, the same
// check. Owned and used by the main thread.
#pragma once

#include "host_memory.h"
#include "mpi_collective.h"
#include "report.h"
#include "team.h"
#include "timing.h"
#include "verifier.h"

namespace perf {

class MpiBench {
 public:
  MpiBench(const Options& options, const MpiCollective& collective, Team& team);

  void warmUp(const Case& what);
  Measurement measure(const Case& what, bool in_place);

 private:
  void callOnce(const Case& what, bool in_place, uint64_t iteration);
  Elapsed timeLoop(const Case& what, bool in_place);
  double check(const Case& what, bool in_place);

  const Options& options_;
  const MpiCollective& collective_;
  Team& team_;
  HostBuffer send_;
  HostBuffer recv_allocation_;
  CheckedBuffers buffers_;
  Verifier verifier_;
};

}  // namespace perf
