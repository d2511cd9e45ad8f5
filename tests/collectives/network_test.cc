// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Collectives over the network transport where it is hardest: queues of the least size, a late rank, many calls in
// flight, step counters near the limits of narrower types. Ranks are threads; each provider that the tests name must be
// there (Debian's libfabric has them all).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/collectives/world.h"

namespace rondo {
namespace {

using testing_world::GuardedBuffer;
using testing_world::Rank;
using testing_world::require;
using testing_world::runRanks;
using testing_world::ScopedEnv;

struct Network {
  const char* provider;   // FI_PROVIDER
  const char* operation;  // RONDO_FABRIC_OPERATION
};

// The provider and nothing but it.
class UseNetwork {
 public:
  explicit UseNetwork(const Network& network)
      : disable_("NCCL_P2P_DISABLE", "1"),
        provider_("FI_PROVIDER", network.provider),
        operation_("RONDO_FABRIC_OPERATION", network.operation) {}

 private:
  ScopedEnv disable_, provider_, operation_;
};

std::vector<char> words(size_t count, int32_t value) {
  const std::vector<int32_t> values(count, value);
  std::vector<char> bytes(count * sizeof(int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void wait(runtime::Stream stream) {
  runtime::Event done;
  done.record(stream);
  done.wait();
}

class Networks : public testing::TestWithParam<Network> {};

// 100 rounds with RONDO_TEST_LONG set (tests/run.sh --long), else few enough for every change.
int roundCount() { return getenv("RONDO_TEST_LONG") != nullptr ? 100 : 8; }

// Allreduces and broadcasts of 8 ranks, 64 at a time without waiting, the sizes mixed. In the second round one rank comes
// 5 s late: the others' networks hold what they can and wait. libfabric reads FI_PROVIDER once per process, so ctest runs
// each provider in a process of its own.
TEST_P(Networks, LeastQueuesLateRankManyCallsInFlight) {
  constexpr int kRanks = 8, kCalls = 64, kLateRank = 3;
  const int rounds = roundCount();
  constexpr size_t kCounts[] = {2, 1000, 30, 5000, 1, 257, 20000, 64};
  const UseNetwork network(GetParam());
  const ScopedEnv tx("RONDO_FABRIC_TX_SIZE", "1"), rx("RONDO_FABRIC_RX_SIZE", "2"), cq("RONDO_FABRIC_CQ_SIZE", "1");
  const ScopedEnv bytes("NCCL_BUFFSIZE", "64K");  // many steps
  runRanks(kRanks, [&](Rank& rank) {
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    for (int call = 0; call < kCalls; ++call) buffers.push_back(std::make_unique<GuardedBuffer>(kCounts[call % 8] * 4, 0));
    for (int round = 0; round < rounds; ++round) {
      for (int call = 0; call < kCalls; ++call)
        buffers[static_cast<size_t>(call)]->write(words(kCounts[call % 8], (rank.rank + 1) * (call + round)));
      if (round == 1 && rank.rank == kLateRank) std::this_thread::sleep_for(std::chrono::seconds(5));
      for (int call = 0; call < kCalls; ++call) {
        char* data = buffers[static_cast<size_t>(call)]->data();
        if (call % 2 == 0) {
          require(ncclAllReduce(data, data, kCounts[call % 8], ncclInt32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
        } else {
          require(ncclBroadcast(data, data, kCounts[call % 8], ncclInt32, call % kRanks, rank.comm, rank.stream), "ncclBroadcast");
        }
      }
      wait(rank.stream);
      for (int call = 0; call < kCalls; ++call) {
        const int factor = call % 2 == 0 ? kRanks * (kRanks + 1) / 2 : call % kRanks + 1;
        ASSERT_EQ(buffers[static_cast<size_t>(call)]->read(), words(kCounts[call % 8], factor * (call + round)))
            << "rank " << rank.rank << " round " << round << " call " << call;
      }
    }
  });
}

// Steps cross 2^10, 2^16, 2^31 and 2^32 on the way.
TEST_P(Networks, StepCountersCrossEveryWidth) {
  constexpr size_t kCount = 50000;
  const UseNetwork network(GetParam());
  const ScopedEnv bytes("NCCL_BUFFSIZE", "64K");
  for (const uint64_t boundary : {uint64_t{1} << 10, uint64_t{1} << 16, uint64_t{1} << 31, uint64_t{1} << 32}) {
    const ScopedEnv first("RONDO_FIRST_STEP", std::to_string(boundary - 7));
    runRanks(3, [&](Rank& rank) {
      GuardedBuffer buffer(kCount * 4, 0);
      for (int round = 1; round <= 3; ++round) {
        buffer.write(words(kCount, (rank.rank + 1) * round));
        require(ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclInt32, ncclSum, rank.comm, rank.stream), "ncclAllReduce");
        require(ncclBroadcast(buffer.data(), buffer.data(), kCount, ncclInt32, round % 3, rank.comm, rank.stream), "ncclBroadcast");
        wait(rank.stream);
        ASSERT_EQ(buffer.read(), words(kCount, 6 * round)) << "boundary " << boundary << " rank " << rank.rank;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, Networks,
                         testing::Values(Network{"tcp", "write"}, Network{"tcp", "tagged"}, Network{"net", "write"},
                                         Network{"net", "tagged"}, Network{"shm", "write"}, Network{"shm", "tagged"}),
                         [](const auto& info) { return std::string(info.param.provider) + "_" + info.param.operation; });

}  // namespace
}  // namespace rondo
