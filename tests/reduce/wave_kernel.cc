// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/reduce/wave_kernel.h"

#include "device/arch/arch.h"
#include "device/primitives/copy.h"
#include "device/primitives/reduce.h"

namespace rondo::wavetest {

namespace {

struct RunArgs {
  const Item* items;
  size_t count;
};

struct OneLaneOf32 {
  unsigned lane;
  RONDO_DEVICE lanes::Part operator()(size_t count) const { return {lane, count, 32}; }
};

struct StridedLoop {
  lanes::Ranges ranges;
  size_t bytes;

  template <class Combiner>
  RONDO_DEVICE void run(const Combiner& combiner) const {
    for (unsigned lane = 0; lane < 32; ++lane) {
      lanes::processStrided(ranges, bytes / sizeof(typename Combiner::Bits), lanes::ReduceKernel<Combiner>{combiner},
                            OneLaneOf32{lane});
    }
  }
};

RONDO_DEVICE void runItem(const Item& item) {
  const lanes::Ranges ranges = {item.out, item.second, item.received, item.own};
  switch (item.operation) {
    case Operation::kCopy:
      return copyRange(item.out, item.second, item.own, item.bytes);
    case Operation::kPrepare:
      return prepareRange(item.reduction, item.out, item.own, item.bytes);
    case Operation::kReduce:
      return reduceRange(item.reduction, item.out, item.second, item.received, item.own, item.bytes, item.last != 0);
    case Operation::kStridedCopy:
      if (!arch::oneLane()) return;
      for (unsigned lane = 0; lane < 32; ++lane) {
        lanes::copyStrided({item.out, item.second, nullptr, item.own}, item.bytes, OneLaneOf32{lane});
      }
      return;
    case Operation::kStridedReduce:
      if (arch::oneLane()) lanes::dispatch(item.reduction, item.last != 0, StridedLoop{ranges, item.bytes});
      return;
  }
}

RONDO_KERNEL void runItems(RONDO_KERNEL_ARGS(RunArgs, args)) {
  const Item* items = arch::readRange(args.items, args.count * sizeof(Item));
  for (size_t i = 0; i < args.count; ++i) {
    runItem(items[i]);
    arch::syncWave();
  }
}

}  // namespace

void launchItems(const Item* items, size_t count, runtime::Stream stream) {
  const unsigned wave = static_cast<unsigned>(runtime::deviceProperties(runtime::currentDevice()).waveSize);
  const arch::LaunchShape shape = {1, wave, 0};
  runtime::check(arch::launchKernel(&runItems, shape, RunArgs{items, count}, stream), "launchKernel");
}

}  // namespace rondo::wavetest
