// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "bench.h"

#include <chrono>
#include <memory>

#include "check.h"
#include "device_memory.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// A group of calls that a failing call does not leave open.
class Group {
 public:
  explicit Group(bool wanted) : open_(wanted) {
    if (open_) PERF_NCCL(ncclGroupStart());
  }
  ~Group() {
    if (open_) ncclGroupEnd();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void end() {
    if (!open_) return;
    open_ = false;
    PERF_NCCL(ncclGroupEnd());
  }

 private:
  bool open_;
};

}  // namespace

Bench::Bench(const Options& options, const Collective& collective, Team& team, int thread, std::span<const Rank> ranks)
    : options_(options), collective_(collective), team_(team), thread_(thread), ranks_(ranks) {
  for (const Rank& rank : ranks_) {
    pending_.push_back({rank.stream, rank.comm});
    verifiers_.emplace_back(collective_, CheckedBuffers{rank.rank, rank.send, rank.recv()},
                            std::make_unique<DeviceMemory>(rank));
  }
  PERF_GPU(cudaSetDevice(ranks_.front().device));
}

int Bench::totalRanks() const {
  return team_.launcher().processes() * team_.threads() * static_cast<int>(ranks_.size());
}

void Bench::launchOnce(const Case& what, bool in_place, uint64_t offset) {
  for (const Rank& rank : ranks_) {
    char* recv = rank.recv() + offset;
    PERF_NCCL(collective_.enqueue({in_place ? recv : rank.send + offset, recv, what.count, what.type.type, what.op.nccl,
                                   what.root, rank.comm, rank.stream}));
  }
}

void Bench::launch(const Case& what, bool in_place, uint64_t iteration) {
  const auto operations = static_cast<uint64_t>(options_.agg_iters);
  // Successive operations walk through the buffers, so that small ones do not always find theirs in a cache.
  const uint64_t places = what.bytes() ? options_.sizes.max_bytes / what.bytes() : 1;
  Group group(operations > 1 || ranks_.size() > 1);
  for (uint64_t i = 0; i < operations; ++i) {
    launchOnce(what, in_place, (iteration * operations + i) % places * what.bytes());
  }
  group.end();
}

void Bench::warmUp(const Case& what) {
  for (int i = 0; i < options_.warmup_iters; ++i) launch(what, false, static_cast<uint64_t>(i));
  wait();
}

Elapsed Bench::timeLoop(const Case& what, bool in_place) {
  launch(what, in_place, 0);
  wait();
  team_.barrier(thread_);
  Clock::duration barriers{0};
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < options_.iters; ++i) {
    launch(what, in_place, static_cast<uint64_t>(i));
    if (options_.blocking == Blocking::Never) continue;
    wait();
    if (options_.blocking == Blocking::Wait) continue;
    const Clock::time_point reached = Clock::now();
    team_.barrier(thread_);
    if (options_.blocking == Blocking::WaitTimedBarrierNot) barriers += Clock::now() - reached;
  }
  const Clock::time_point launched = Clock::now();
  wait();
  const Clock::time_point end = Clock::now();
  const double operations = static_cast<double>(options_.iters) * options_.agg_iters;
  return {microseconds(end - begin - barriers) / operations, microseconds(launched - begin - barriers) / operations};
}

double Bench::check(const Case& what, bool in_place) {
  double wrong = 0;
  for (int round = 0; round < options_.check_iters; ++round) {
    const Recipe recipe{what.type.type, what.op.op, totalRanks(), static_cast<uint64_t>(round)};
    const CheckedCase checked{recipe, what.root, what.count, what.type.bytes, in_place};
    for (Verifier& verifier : verifiers_) verifier.prepare(checked);
    Group group(ranks_.size() > 1);
    launchOnce(what, in_place, 0);
    group.end();
    wait();
    for (size_t i = 0; i < verifiers_.size(); ++i) {
      std::string first;
      const size_t found = verifiers_[i].countWrong(checked, &first);
      if (found) tellWrong(collective_, what, checked, verifiers_[i].rank(), found, first);
      wrong += static_cast<double>(found);
    }
  }
  double total = wrong;
  team_.reduce(thread_, {&total, 1}, Reduce::Sum);
  // The reduction may itself have gone through the faulty communicator.
  return total >= wrong ? total : wrong;
}

Measurement Bench::measure(const Case& what, bool in_place) {
  Measurement result;
  if (options_.iters > 0) {
    const Elapsed elapsed = combineTimes(options_.time_over, team_, thread_, timeLoop(what, in_place));
    addTimes(result, what.bytes(), elapsed, collective_.busFactor(totalRanks()));
  }
  if (options_.check_iters > 0) {
    result.checked = true;
    result.wrong = check(what, in_place);
  }
  return result;
}

}  // namespace perf
