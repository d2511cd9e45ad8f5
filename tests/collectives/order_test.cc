// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Order and concurrency: the stream orders a collective after earlier work; calls of one communicator on several streams,
// from several threads and in groups take effect in one order; a mismatch is an error on every rank.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "src/comm/comm_handle.h"
#include "tests/collectives/reference.h"
#include "tests/collectives/world.h"

namespace rondo {
namespace {

using testing_world::GuardedBuffer;
using testing_world::Rank;
using testing_world::require;
using testing_world::runRanks;
using testing_world::ScopedEnv;

std::vector<char> floats(size_t count, float value) {
  const std::vector<float> values(count, value);
  std::vector<char> bytes(count * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void wait(runtime::Stream stream) {
  runtime::Event done;
  done.record(stream);
  done.wait();
}

// A copy on the stream fills the input; the collective follows at once, without a host synchronisation.
TEST(Order, CollectiveComesAfterEarlierWorkOfItsStream) {
  constexpr size_t kCount = 5000;
  runRanks(3, [](Rank& rank) {
    GuardedBuffer staged(kCount * 4, 0), input(kCount * 4, 0), output(kCount * 4, 0);
    for (int round = 1; round <= 50; ++round) {
      staged.write(floats(kCount, static_cast<float>(round)));
      runtime::copyOnDevice(input.data(), staged.data(), kCount * 4, rank.stream);
      require(ncclAllReduce(input.data(), output.data(), kCount, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
      runtime::copyOnDevice(input.data(), output.data(), kCount * 4, rank.stream);  // and later work after it
      wait(rank.stream);
      ASSERT_EQ(input.read(), floats(kCount, 3.0f * static_cast<float>(round)));
    }
  });
}

TEST(Order, SeveralStreamsOfOneCommunicator) {
  constexpr size_t kCount = 3000;
  runRanks(2, [](Rank& rank) {
    runtime::OwnedStream second, third;
    const std::array<runtime::Stream, 3> streams = {rank.stream, second.get(), third.get()};
    GuardedBuffer buffer(kCount * 4, 0);
    buffer.write(floats(kCount, 1.0f));
    // Each doubles what the one before it left, on another stream: wrong unless they take effect one after another.
    for (int i = 0; i < 12; ++i)
      require(ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclFloat32, ncclSum, rank.comm, streams[static_cast<size_t>(i) % 3]), "ncclAllReduce");
    for (runtime::Stream stream : streams) wait(stream);
    EXPECT_EQ(buffer.read(), floats(kCount, 4096.0f));
  });
}

TEST(Order, ManyCallsWithoutWaiting) {
  runRanks(2, [](Rank& rank) {
    GuardedBuffer buffer(4, 0);
    buffer.write(floats(1, 0.0f));
    for (int i = 0; i < 2000; ++i)
      require(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclFloat32, ncclMax, rank.comm, rank.stream), "ncclAllReduce");
    wait(rank.stream);
    EXPECT_EQ(buffer.read(), floats(1, 0.0f));
  });
}

// Threads of one rank share a communicator: the order between ranks must be the callers', so each call is of the same kind.
TEST(Threads, OneCommunicatorUsedByManyThreads) {
  constexpr size_t kCount = 257;
  runRanks(2, [](Rank& rank) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&rank, &wrong] {
        const runtime::DeviceGuard guard(rank.rank % runtime::deviceCount());
        runtime::OwnedStream stream;
        GuardedBuffer buffer(kCount * 4, 0);
        for (int i = 0; i < 25; ++i) {
          buffer.write(floats(kCount, 2.0f));
          require(ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclFloat32, ncclSum, rank.comm, stream.get()), "ncclAllReduce");
          wait(stream.get());
          wrong += buffer.read() != floats(kCount, 4.0f);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  });
}

TEST(Threads, ManyCommunicatorsAtOnce) {
  std::vector<std::thread> worlds;
  for (int w = 0; w < 4; ++w) {
    worlds.emplace_back([w] {
      runRanks(2, [w](Rank& rank) {
        GuardedBuffer buffer(400, 0);
        for (int i = 0; i < 20; ++i) {
          buffer.write(floats(100, static_cast<float>(w)));
          require(ncclAllReduce(buffer.data(), buffer.data(), 100, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
          wait(rank.stream);
          EXPECT_EQ(buffer.read(), floats(100, 2.0f * static_cast<float>(w)));
        }
      });
    });
  }
  for (std::thread& world : worlds) world.join();
}

TEST(Groups, ManyCallsTakeEffectTogether) {
  constexpr int kCalls = 70;  // more than one launch holds
  runRanks(3, [](Rank& rank) {
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    for (int i = 0; i < kCalls; ++i) {
      buffers.push_back(std::make_unique<GuardedBuffer>(40, 0));
      buffers.back()->write(floats(10, static_cast<float>(i)));
    }
    require(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < kCalls; ++i) {
      char* data = buffers[static_cast<size_t>(i)]->data();
      if (i % 2 == 0) {
        require(ncclAllReduce(data, data, 10, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
      } else {
        require(ncclBroadcast(data, data, 10, ncclFloat32, i % 3, rank.comm, rank.stream), "ncclBroadcast");
      }
    }
    require(ncclGroupEnd(), "ncclGroupEnd");
    wait(rank.stream);
    for (int i = 0; i < kCalls; ++i)
      EXPECT_EQ(buffers[static_cast<size_t>(i)]->read(), floats(10, static_cast<float>(i % 2 == 0 ? 3 * i : i))) << i;
  });
}

TEST(Groups, AFailingCallDropsTheGroup) {
  runRanks(2, [](Rank& rank) {
    GuardedBuffer buffer(40, 0);
    buffer.write(floats(10, 1.0f));
    require(ncclGroupStart(), "ncclGroupStart");
    require(ncclAllReduce(buffer.data(), buffer.data(), 10, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
    EXPECT_EQ(ncclBroadcast(buffer.data(), buffer.data(), 10, ncclFloat32, 7, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    wait(rank.stream);
    EXPECT_EQ(buffer.read(), floats(10, 1.0f));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
}

ncclResult_t waitForError(ncclComm_t comm) {
  ncclResult_t error = ncclSuccess;
  for (int i = 0; i < 2000 && error == ncclSuccess; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
  }
  return error;
}

// Ranks that call different things get an error, not silence.
TEST(Mismatch, IsAnErrorOnEveryRank) {
  runRanks(3, [](Rank& rank) {
    GuardedBuffer buffer(400, 0);
    buffer.write(floats(100, 1.0f));
    const size_t count = rank.rank == 1 ? 99 : 100;
    require(ncclAllReduce(buffer.data(), buffer.data(), count, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
    EXPECT_EQ(waitForError(rank.comm), ncclInvalidUsage);
    wait(rank.stream);  // the kernel has ended
    EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclFloat32, ncclSum, rank.comm, rank.stream), ncclInvalidUsage);
    EXPECT_NE(std::string(ncclGetLastError(rank.comm)).find("different collectives"), std::string::npos);
  });
}

TEST(Abort, EndsAKernelThatWaits) {
  runRanks(2, [](Rank& rank) {
    GuardedBuffer buffer(400, 0);
    if (rank.rank == 0) {
      require(ncclAllReduce(buffer.data(), buffer.data(), 100, ncclFloat32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      // The wait is published while it lasts: the page says what rank 0 waits for, and from whom.
      const auto communicator = registry::find(rank.comm, "comm")->ready();
      EXPECT_NE(communicator->describeWaits().find("step 0 from rank 1 in call 1"), std::string::npos)
          << communicator->describeWaits();
      require(ncclCommAbort(rank.comm), "ncclCommAbort");
      wait(rank.stream);
      rank.comm = nullptr;  // nothing is left to destroy
    } else {
      EXPECT_EQ(waitForError(rank.comm), ncclRemoteError);
      EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("aborted"), std::string::npos);
    }
  });
}

}  // namespace
}  // namespace rondo
