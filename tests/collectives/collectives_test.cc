// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Broadcast and allreduce through the C API, ranks as threads: exact against a reference that uses no library code, no
// byte touched outside the buffers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/collectives/reference.h"
#include "tests/collectives/world.h"

namespace rondo {
namespace {

using reference::kOps;
using reference::kTypes;
using testing_world::GuardedBuffer;
using testing_world::Rank;
using testing_world::require;
using testing_world::runRanks;
using testing_world::ScopedEnv;

struct Shape {
  ncclDataType_t type;
  ncclRedOp_t op;
  size_t count;
  size_t inputOffset;
  size_t outputOffset;
  bool inPlace;
};

std::string name(const Shape& s) {
  return fmt::format("type {} op {} count {} offsets {} {} {}", static_cast<int>(s.type), static_cast<int>(s.op), s.count,
                     s.inputOffset, s.outputOffset, s.inPlace ? "in place" : "out of place");
}

// Waits for the stream's work without spinning.
void finish(const Rank& rank) {
  runtime::Event done;
  done.record(rank.stream);
  done.wait();
}

void checkAllReduce(const Rank& rank, const Shape& shape, unsigned seed) {
  const size_t bytes = shape.count * reference::elementBytes(shape.type);
  const auto mine = reference::input(shape.type, shape.op, rank.rank, shape.count, seed);
  GuardedBuffer input(bytes, shape.inputOffset);
  GuardedBuffer output(bytes, shape.outputOffset);
  GuardedBuffer& target = shape.inPlace ? input : output;
  input.write(mine);
  require(ncclAllReduce(input.data(), target.data(), shape.count, shape.type, shape.op, rank.comm, rank.stream), "ncclAllReduce");
  finish(rank);
  const auto wanted = reference::reduced(shape.type, shape.op, rank.ranks, shape.count, seed);
  EXPECT_EQ(reference::compare(shape.type, shape.op, target.read(), wanted), "") << name(shape) << " rank " << rank.rank;
  EXPECT_EQ(input.checkCanaries(), "") << name(shape);
  EXPECT_EQ(output.checkCanaries(), "") << name(shape);
  if (!shape.inPlace) {
    EXPECT_EQ(input.read(), mine) << name(shape) << ": the input was changed";
  }
}

void checkBroadcast(const Rank& rank, const Shape& shape, int root, unsigned seed) {
  const size_t bytes = shape.count * reference::elementBytes(shape.type);
  const auto wanted = reference::input(shape.type, ncclSum, root, shape.count, seed);
  const auto mine = reference::input(shape.type, ncclSum, rank.rank, shape.count, seed + 1);
  GuardedBuffer input(bytes, shape.inputOffset);
  GuardedBuffer output(bytes, shape.outputOffset);
  GuardedBuffer& target = shape.inPlace ? input : output;
  const bool isRoot = rank.rank == root;
  input.write(isRoot ? wanted : mine);
  // Off the root the send buffer is not used and may be NULL.
  const void* send = isRoot || shape.inPlace ? input.data() : nullptr;
  require(ncclBroadcast(send, target.data(), shape.count, shape.type, root, rank.comm, rank.stream), "ncclBroadcast");
  finish(rank);
  EXPECT_EQ(target.read(), wanted) << name(shape) << " root " << root << " rank " << rank.rank;
  EXPECT_EQ(input.checkCanaries(), "") << name(shape);
  EXPECT_EQ(output.checkCanaries(), "") << name(shape);
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, AllReduceOfEveryCountTypeAndOp) {
  runRanks(GetParam(), [](Rank& rank) {
    unsigned seed = 0;
    for (size_t count = 0; count <= 67; ++count) {
      for (ncclDataType_t type : kTypes) {
        for (ncclRedOp_t op : kOps) {
          ++seed;
          if (rank.ranks > 3 && seed % 5 != 0) continue;  // larger rings: every fifth
          checkAllReduce(rank, {type, op, count, seed % 16, (seed / 16) % 16, seed % 3 == 0}, seed);
        }
      }
    }
  });
}

TEST_P(Ranks, BroadcastOfEveryCountAndTypeFromEveryRoot) {
  runRanks(GetParam(), [](Rank& rank) {
    unsigned seed = 0;
    for (size_t count = 0; count <= 67; ++count) {
      for (ncclDataType_t type : kTypes) {
        for (int root = 0; root < rank.ranks; ++root) {
          ++seed;
          if (rank.ranks > 3 && seed % 5 != 0) continue;
          checkBroadcast(rank, {type, ncclSum, count, seed % 16, (seed / 16) % 16, seed % 3 == 0}, root, seed);
        }
      }
    }
  });
}

TEST_P(Ranks, EveryOffset) {
  runRanks(GetParam(), [](Rank& rank) {
    unsigned seed = 0;
    for (size_t offset = 0; offset < 16; ++offset) {
      for (ncclDataType_t type : kTypes) {
        ++seed;
        const ncclRedOp_t op = kOps[seed % 5];
        checkAllReduce(rank, {type, op, 301, offset, (offset * 7 + 3) % 16, false}, seed);
        checkAllReduce(rank, {type, op, 301, offset, 0, true}, seed);
        checkBroadcast(rank, {type, op, 301, offset, (offset * 5 + 1) % 16, false}, static_cast<int>(seed) % rank.ranks, seed);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(World, Ranks, testing::Values(1, 2, 3, 5, 8));

// A FIFO of 2 KiB per channel: a message of 40 KiB takes over three rounds through it on every depth.
class Depths : public testing::TestWithParam<int> {};

TEST_P(Depths, SmallFifoManyRounds) {
  const int depth = GetParam();
  const size_t fifo = static_cast<size_t>(depth) * 128;
  const ScopedEnv steps("NCCL_STEPS", std::to_string(depth));
  const ScopedEnv bytes("NCCL_BUFFSIZE", std::to_string(fifo));
  for (int ranks : {2, 3}) {
    runRanks(ranks, [&](Rank& rank) {
      unsigned seed = 0;
      for (size_t count : {size_t{127}, size_t{128}, size_t{129}, fifo - 1, fifo + 1, fifo * 7 + 5}) {
        for (ncclDataType_t type : {ncclInt8, ncclFloat16, ncclFloat32, ncclInt64}) {
          ++seed;
          checkAllReduce(rank, {type, kOps[seed % 5], count / reference::elementBytes(type) + 1, seed % 16, seed % 7, seed % 2 == 0}, seed);
          checkBroadcast(rank, {type, ncclSum, count, seed % 16, seed % 7, seed % 2 == 0}, static_cast<int>(seed) % rank.ranks, seed);
        }
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, Depths, testing::Values(1, 2, 4, 8, 16, 32, 64));

// Around multiples of the default slot, and several channels.
TEST(Sizes, AroundSlotsAndChannels) {
  for (const char* channels : {"1", "2", "5"}) {
    const ScopedEnv least("NCCL_MIN_NCHANNELS", channels);
    const ScopedEnv most("NCCL_MAX_NCHANNELS", channels);
    const ScopedEnv bytes("NCCL_BUFFSIZE", "65536");
    runRanks(3, [](Rank& rank) {
      unsigned seed = 0;
      for (size_t slot : {size_t{4096}, size_t{8192}, size_t{65536}}) {
        for (int delta : {-1, 0, 1}) {
          for (size_t multiple : {1, 3, 13}) {
            ++seed;
            const size_t count = slot * multiple + static_cast<size_t>(delta);
            checkAllReduce(rank, {ncclInt8, ncclSum, count, 1, 2, false}, seed);
            checkBroadcast(rank, {ncclInt8, ncclSum, count, 3, 0, false}, static_cast<int>(seed) % 3, seed);
          }
        }
      }
    });
  }
}

TEST(Threads, WorkerWavesShareThePiece) {
  for (const char* threads : {"64", "192", "512"}) {
    const ScopedEnv count("NCCL_NTHREADS", threads);
    runRanks(2, [](Rank& rank) {
      for (size_t bytes : {1u, 100u, 1000u, 100000u}) checkAllReduce(rank, {ncclInt8, ncclMax, bytes, 5, 9, false}, 1);
    });
  }
}

TEST(Channels, SixtyFour) {
  const ScopedEnv least("NCCL_MIN_NCHANNELS", "64");
  const ScopedEnv most("NCCL_MAX_NCHANNELS", "64");
  const ScopedEnv bytes("NCCL_BUFFSIZE", "8192");
  runRanks(2, [](Rank& rank) {
    checkAllReduce(rank, {ncclFloat32, ncclSum, 100003, 4, 8, false}, 1);
    checkBroadcast(rank, {ncclFloat32, ncclSum, 100003, 4, 8, false}, 1, 2);
  });
}

}  // namespace
}  // namespace rondo
