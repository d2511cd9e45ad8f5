// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "mpi_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "mpi_types.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

class PlainMemory : public CheckedMemory {
 public:
  void fill(char* to, int byte, size_t bytes) override { std::memset(to, byte, bytes); }
  void put(char* to, const char* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void get(char* to, const char* from, size_t bytes) override { std::memcpy(to, from, bytes); }
};

}  // namespace

MpiBench::MpiBench(const Options& options, const MpiCollective& collective, Team& team)
    : options_(options),
      collective_(collective),
      team_(team),
      send_(std::max<uint64_t>(options.sizes.max_bytes, 1)),
      recv_allocation_(options.sizes.max_bytes + 2 * kGuardBytes),
      buffers_{team.launcher().process(), send_.data(), recv_allocation_.data() + kGuardBytes},
      verifier_(collective, buffers_, std::make_unique<PlainMemory>()) {}

void MpiBench::callOnce(const Case& what, bool in_place, uint64_t iteration) {
  // Successive operations walk through the buffers, as Bench's do.
  const uint64_t places = what.bytes() ? options_.sizes.max_bytes / what.bytes() : 1;
  const uint64_t offset = iteration % places * what.bytes();
  collective_.call({buffers_.send + offset, buffers_.recv + offset, in_place, static_cast<int>(what.count),
                    what.bytes(), mpiTypeOf(what.type), mpiOpOf(what.op), what.root, buffers_.rank});
}

void MpiBench::warmUp(const Case& what) {
  for (int i = 0; i < options_.warmup_iters; ++i) callOnce(what, false, static_cast<uint64_t>(i));
}

Elapsed MpiBench::timeLoop(const Case& what, bool in_place) {
  callOnce(what, in_place, 0);
  team_.barrier(0);
  Clock::duration barriers{0};
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < options_.iters; ++i) {
    callOnce(what, in_place, static_cast<uint64_t>(i));
    if (options_.blocking == Blocking::Never || options_.blocking == Blocking::Wait) continue;
    const Clock::time_point reached = Clock::now();
    team_.barrier(0);
    if (options_.blocking == Blocking::WaitTimedBarrierNot) barriers += Clock::now() - reached;
  }
  const std::chrono::duration<double, std::micro> time = Clock::now() - begin - barriers;
  return {time.count() / options_.iters, time.count() / options_.iters};
}

double MpiBench::check(const Case& what, bool in_place) {
  double wrong = 0;
  for (int round = 0; round < options_.check_iters; ++round) {
    const Recipe recipe{what.type.type, what.op.op, team_.launcher().processes(), static_cast<uint64_t>(round)};
    const CheckedCase checked{recipe, what.root, what.count, what.type.bytes, in_place};
    verifier_.prepare(checked);
    callOnce(what, in_place, 0);
    std::string first;
    const size_t found = verifier_.countWrong(checked, &first);
    if (found) tellWrong(collective_, what, checked, verifier_.rank(), found, first);
    wrong += static_cast<double>(found);
  }
  team_.reduce(0, {&wrong, 1}, Reduce::Sum);
  return wrong;
}

Measurement MpiBench::measure(const Case& what, bool in_place) {
  Measurement result;
  if (options_.iters > 0) {
    const Elapsed elapsed = combineTimes(options_.time_over, team_, 0, timeLoop(what, in_place));
    addTimes(result, what.bytes(), elapsed, collective_.busFactor(team_.launcher().processes()));
  }
  if (options_.check_iters > 0) {
    result.checked = true;
    result.wrong = check(what, in_place);
  }
  return result;
}

}  // namespace perf
