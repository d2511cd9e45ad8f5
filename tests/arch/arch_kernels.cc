// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/arch/arch_kernels.h"

#include <chrono>
#include <cstring>

#include "device/arch/arch.h"
#include "device/runtime/runtime.h"

namespace rondo::archtest {

namespace {

using arch::Scope;

struct ProbeArgs {
  Probe probe;
  uint64_t argument;
  Word* rows;
  Word* common;
};

RONDO_DEVICE unsigned threadIndex() { return arch::waveIndex() * arch::waveSize() + arch::laneIndex(); }

RONDO_DEVICE void put(const ProbeArgs& args, unsigned column, uint64_t value) {
  const size_t row = static_cast<size_t>(arch::blockIndex()) * arch::threadCount() + threadIndex();
  arch::storeRelaxed<Scope::kSystem>(args.rows[row * kColumns + column], value);
}

RONDO_DEVICE void identity(const ProbeArgs& args) {
  put(args, 0, arch::blockIndex());
  put(args, 1, arch::blockCount());
  put(args, 2, arch::threadCount());
  put(args, 3, arch::waveSize());
  put(args, 4, arch::waveIndex());
  put(args, 5, arch::waveCount());
  put(args, 6, arch::laneIndex());
  put(args, 7, arch::oneLane() ? 1 : 0);
}

RONDO_DEVICE void ballots(const ProbeArgs& args) {
  put(args, 0, arch::ballot(arch::laneIndex() % 3 == 0));
  put(args, 1, arch::ballot(true));
  put(args, 2, arch::ballot(false));
  put(args, 3, arch::ballot(arch::laneIndex() == arch::waveSize() - 1));
}

RONDO_DEVICE void shuffles(const ProbeArgs& args) {
  const unsigned lane = arch::laneIndex();
  const unsigned last = arch::waveSize() - 1;
  put(args, 0, arch::shuffle(lane * 3 + 1, 0));
  put(args, 1, arch::shuffle(lane * 3 + 1, last));
  put(args, 2, arch::shuffle((uint64_t{lane} << 40) + lane + 5, last));
  put(args, 3, static_cast<uint64_t>(arch::shuffle(-static_cast<int64_t>(lane) - 1, 7)));
  put(args, 4, static_cast<uint64_t>(static_cast<int64_t>(arch::shuffle(-static_cast<int32_t>(lane) - 1, 7))));
}

RONDO_DEVICE void minima(const ProbeArgs& args) {
  const unsigned lane = arch::laneIndex();
  put(args, 0, arch::waveMin(1000 - lane));
  put(args, 1, arch::waveMin(lane + 17));
  put(args, 2, arch::waveMin(0xffffffffu));
  put(args, 3, arch::waveMin(lane == 5 ? 0x80000000u : 0xfffffff0u));
}

// A third of the lanes do more than the others; afterwards the wave is whole.
RONDO_DEVICE void reconverge(const ProbeArgs& args) {
  {
    arch::Reconverge scope;
    if (arch::laneIndex() % 3 == 0) {
      for (unsigned i = 0; i <= arch::laneIndex(); ++i) {
        arch::fetchAdd<Scope::kDevice>(args.common[0], 1);
        arch::spinPause();
      }
    }
  }
  put(args, 0, arch::ballot(true));
}

struct SharedWords {
  Word words[1024];
};

// Each lane stores, then reads what a lane of another wave stored.
RONDO_DEVICE void syncBlocks(const ProbeArgs& args) {
  SharedWords& shared = *arch::blockShared<SharedWords>();
  const unsigned me = threadIndex();
  for (unsigned round = 0; round < 5; ++round) {
    arch::storeRelaxed<Scope::kBlock>(shared.words[me], me * 10 + round);
    arch::syncBlock();
    const unsigned other = (me + arch::waveSize() + 1) % arch::threadCount();
    put(args, round, arch::loadRelaxed<Scope::kBlock>(shared.words[other]));
    arch::syncBlock();
  }
}

RONDO_DEVICE void syncWaves(const ProbeArgs& args) {
  SharedWords& shared = *arch::blockShared<SharedWords>();
  const unsigned first = arch::waveIndex() * arch::waveSize();
  for (unsigned round = 0; round < 5; ++round) {
    arch::storeRelaxed<Scope::kBlock>(shared.words[threadIndex()], threadIndex() * 10 + round);
    arch::syncWave();
    const unsigned other = first + (arch::laneIndex() + 1 + round) % arch::waveSize();
    put(args, round, arch::loadRelaxed<Scope::kBlock>(shared.words[other]));
    arch::syncWave();
  }
}

// Every lane adds; the old values are a permutation. Stores and loads of both kinds read back.
template <Scope kScope>
RONDO_DEVICE void words(const ProbeArgs& args, Word& counter, Word& mine) {
  put(args, 0, arch::fetchAdd<kScope>(counter, 1));
  const uint64_t big = 0x123456789abcdef0u;
  arch::storeRelaxed<kScope>(mine, big + threadIndex());
  put(args, 1, arch::loadRelaxed<kScope>(mine));
  arch::storeRelease<kScope>(mine, big - threadIndex());
  put(args, 2, arch::loadAcquire<kScope>(mine));
  put(args, 3, arch::fetchAdd<kScope>(mine, ~uint64_t{0}));
  put(args, 4, arch::loadRelaxed<kScope>(mine));
}

RONDO_DEVICE void blockWords(const ProbeArgs& args) {
  SharedWords& shared = *arch::blockShared<SharedWords>();
  {
    arch::Reconverge scope;
    if (threadIndex() == 0) arch::storeRelaxed<Scope::kBlock>(shared.words[1023], 0);
  }
  arch::syncBlock();
  words<Scope::kBlock>(args, shared.words[1023], shared.words[threadIndex()]);
}

// The first wave of the grid writes plain data, drains, and one lane of the *second* wave publishes it to the last wave,
// after it has acquired from the first: the chain of a FIFO's tail. Each round another set of values.
template <Scope kScope>
RONDO_DEVICE void message(const ProbeArgs& args) {
  SharedWords& shared = *arch::blockShared<SharedWords>();
  {
    arch::Reconverge scope;
    if (threadIndex() == 0) arch::storeRelaxed<Scope::kBlock>(shared.words[0], 0);
  }
  arch::syncBlock();
  Word& tail = args.common[0];
  Word& head = args.common[1];
  uint64_t* data = reinterpret_cast<uint64_t*>(args.common + 64);
  const bool writes = arch::blockIndex() == 0 && arch::waveIndex() == 0;
  const bool posts = arch::blockIndex() == 0 && arch::waveIndex() == 1;
  const bool reads = arch::blockIndex() == arch::blockCount() - 1 && arch::waveIndex() == 2;
  const unsigned lane = arch::laneIndex();
  uint64_t wrong = 0;
  for (uint64_t round = 1; round <= args.argument; ++round) {
    if (writes) {
      while (arch::loadAcquire<kScope>(head) != round - 1) arch::spinPause();  // pairs with the reader's head
      arch::syncWave();
      *arch::writeRange(data + lane, sizeof(uint64_t)) = round * 1000 + lane;
      arch::drainStores();
      arch::Reconverge scope;
      if (arch::oneLane()) arch::storeRelease<Scope::kBlock>(shared.words[0], round);  // pairs with the poster's load
    }
    if (posts) {
      while (arch::loadAcquire<Scope::kBlock>(shared.words[0]) != round) arch::spinPause();
      arch::syncWave();
      arch::Reconverge scope;
      if (arch::oneLane()) arch::storeRelease<kScope>(tail, round);  // pairs with the reader's load
    }
    if (reads) {
      while (arch::loadAcquire<kScope>(tail) != round) arch::spinPause();
      arch::syncWave();
      const unsigned other = arch::waveSize() - 1 - lane;
      if (*arch::readRange(data + other, sizeof(uint64_t)) != round * 1000 + other) ++wrong;
      arch::syncWave();
      arch::Reconverge scope;
      if (arch::oneLane()) arch::storeRelease<kScope>(head, round);  // pairs with the writer's load
    }
  }
  put(args, 0, wrong);
  put(args, 1, reads ? 1 : 0);
}

RONDO_DEVICE void tiles(const ProbeArgs& args) {
  const arch::Tile tile = arch::tile(args.argument);
  for (size_t i = tile.begin; i < tile.end; i += tile.stride) arch::fetchAdd<Scope::kDevice>(args.common[i], 1);
}

RONDO_DEVICE void ranges(const ProbeArgs& args) {
  const arch::Tile tile = arch::tile(args.argument);
  char* bytes = reinterpret_cast<char*>(args.common);
  char* to = arch::writeRange(bytes + 1, args.argument);
  const char* from = arch::readRange(bytes + 8001, args.argument);
  for (size_t i = tile.begin; i < tile.end; i += tile.stride) to[i] = static_cast<char>(from[i] + 5);
}

RONDO_DEVICE void blockShareds(const ProbeArgs& args) {
  SharedWords& shared = *arch::blockShared<SharedWords>();
  {
    arch::Reconverge scope;
    if (threadIndex() == 0) arch::storeRelaxed<Scope::kBlock>(shared.words[9], 100 + arch::blockIndex());
  }
  arch::syncBlock();
  put(args, 0, arch::loadRelaxed<Scope::kBlock>(shared.words[9]));
  put(args, 1, reinterpret_cast<uintptr_t>(&shared) % 16);
}

RONDO_DEVICE void pairs(const ProbeArgs& args) {
  arch::Pair64* pair = reinterpret_cast<arch::Pair64*>(args.common) + threadIndex();
  arch::store128(pair, {threadIndex() + 1, ~uint64_t{threadIndex()}});
  const arch::Pair64 back = arch::load128(pair);
  put(args, 0, back.low);
  put(args, 1, back.high);
}

RONDO_DEVICE void lines(const ProbeArgs& args) {
  arch::Pair64* line = reinterpret_cast<arch::Pair64*>(args.common) + threadIndex() / 8 * 8;
  arch::storeLine128(line, {threadIndex(), 7000 + threadIndex()}, threadIndex() % 8);
  arch::syncWave();
  const arch::Pair64 back = arch::load128(line + (threadIndex() + 3) % 8);
  put(args, 0, back.low);
  put(args, 1, back.high);
}

RONDO_DEVICE void clocks(const ProbeArgs& args) {
  const uint64_t start = arch::clock_ns();
  uint64_t previous = start;
  uint64_t backward = 0;
  uint64_t steps = 0;
  while (previous - start < args.argument) {
    const uint64_t now = arch::clock_ns();
    backward += now < previous ? 1 : 0;
    steps += now != previous ? 1 : 0;
    previous = now;
    arch::spinPause();
  }
  put(args, 0, previous - start);
  put(args, 1, backward);
  put(args, 2, steps);
}

RONDO_KERNEL void probeKernel(RONDO_KERNEL_ARGS(ProbeArgs, args)) {
  switch (args.probe) {
    case Probe::kIdentity:
      return identity(args);
    case Probe::kBallot:
      return ballots(args);
    case Probe::kShuffle:
      return shuffles(args);
    case Probe::kWaveMin:
      return minima(args);
    case Probe::kReconverge:
      return reconverge(args);
    case Probe::kSyncBlock:
      return syncBlocks(args);
    case Probe::kSyncWave:
      return syncWaves(args);
    case Probe::kBlockWords:
      return blockWords(args);
    case Probe::kDeviceWords:
      return words<Scope::kDevice>(args, args.common[2000], args.common[threadIndex()]);
    case Probe::kSystemWords:
      return words<Scope::kSystem>(args, args.common[2000], args.common[threadIndex()]);
    case Probe::kMessageBlock:
      return message<Scope::kBlock>(args);
    case Probe::kMessageDevice:
      return message<Scope::kDevice>(args);
    case Probe::kMessageSystem:
      return message<Scope::kSystem>(args);
    case Probe::kTile:
      return tiles(args);
    case Probe::kRanges:
      return ranges(args);
    case Probe::kBlockShared:
      return blockShareds(args);
    case Probe::kPairs:
      return pairs(args);
    case Probe::kLines:
      return lines(args);
    case Probe::kClock:
      return clocks(args);
    case Probe::kTrap:
      arch::trap();
  }
}

}  // namespace

Outcome run(Probe probe, const Shape& shape, uint64_t argument) {
  const runtime::DeviceProperties properties = runtime::deviceProperties(runtime::currentDevice());
  Outcome outcome = {};
  outcome.waveSize = static_cast<unsigned>(properties.waveSize);
  outcome.threads = shape.waves * outcome.waveSize;
  outcome.rows.resize(static_cast<size_t>(shape.blocks) * outcome.threads * kColumns);
  outcome.common.resize(kCommonWords);
  runtime::DeviceMemory rows(outcome.rows.size() * sizeof(Word), runtime::MemoryUse::kPrivate);
  runtime::PinnedMemory common(kCommonWords * sizeof(Word));
  const ProbeArgs args = {probe, argument, reinterpret_cast<Word*>(rows.data()),
                          reinterpret_cast<Word*>(common.data())};
  for (size_t i = 8000; i < 16000; ++i) common.data()[i] = static_cast<char>(probe == Probe::kRanges ? i : 0);

  const runtime::OwnedStream stream;
  const auto start = std::chrono::steady_clock::now();
  const arch::LaunchShape launch = {shape.blocks, outcome.threads, shape.workers ? 0 : shape.waves};
  runtime::check(arch::launchKernel(&probeKernel, launch, args, stream.get()), "launchKernel");
  stream.synchronize();
  outcome.hostElapsed_ns = static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
  runtime::copyFromDevice(outcome.rows.data(), rows.data(), outcome.rows.size() * sizeof(Word));
  memcpy(outcome.common.data(), common.data(), kCommonWords * sizeof(Word));
  return outcome;
}

bool isEmulated() { return runtime::deviceProperties(runtime::currentDevice()).isEmulated; }

}  // namespace rondo::archtest
