// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Connections over a made-up network: every step arrives once, in order and unharmed, whatever the network does; the FIFO
// contract (device/primitives/fifo.h) holds at every moment. And the proxy thread's sleep and wake.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/fake_network.h"
#include "transport/fabric/connection.h"
#include "transport/fabric/proxy.h"

namespace rondo::fabric {
namespace {

struct Case {
  uint64_t depth;
  uint64_t window;
  uint32_t channels;
  size_t queue;
  uint64_t firstStep;
};

constexpr uint64_t kSlotBytes = 256;

// One side's FIFO memory, and a kernel's place in it.
struct Side {
  explicit Side(const Case& test) : words(test.channels * 2), slots(test.channels * test.depth * slotStride(kSlotBytes)) {
    for (uint32_t channel = 0; channel < test.channels; ++channel) {
      words[channel * 2].value = words[channel * 2 + 1].value = test.firstStep;
      const uint64_t offset = channel * test.depth * slotStride(kSlotBytes);
      fifos.push_back({channel, {&words[channel * 2], &words[channel * 2 + 1], slots.data() + offset, kSlotBytes, test.depth},
                       offset, nullptr});
    }
    steps.assign(test.channels, test.firstStep);
  }

  char* payload(uint32_t channel, uint64_t step) {
    const Fifo& fifo = fifos[channel].fifo;
    return fifo.slots + (step & (fifo.depth - 1)) * slotStride(kSlotBytes) + kSlotHeaderRoom;
  }
  SlotHeader& header(uint32_t channel, uint64_t step) { return reinterpret_cast<SlotHeader*>(payload(channel, step))[-1]; }

  std::vector<Word> words;
  std::vector<char> slots;
  std::vector<ChannelFifo> fifos;
  std::vector<uint64_t> steps;  // of the kernel
};

char pattern(uint32_t channel, uint64_t step, uint64_t i) { return static_cast<char>(step * 7 + channel * 31 + i); }

class Link {
 public:
  Link(const Case& test, unsigned seed) : test_(test), network_(seed, test.queue), sender_(test), receiver_(test), elsewhere_(test.channels * test.depth) {
    network_.senderMemory = sender_.slots.data();
    network_.receiverMemory = receiver_.slots.data();
    send_ = std::make_unique<SendConnection>(std::make_unique<FakeEndpoint>(network_, Role::kSender, test.window),
                                             sender_.fifos, "rank 1");
    receive_ = std::make_unique<ReceiveConnection>(std::make_unique<FakeEndpoint>(network_, Role::kReceiver, test.window),
                                                   receiver_.fifos, "rank 0");
  }

  FakeNetwork& network() { return network_; }
  SendConnection& send() { return *send_; }
  ReceiveConnection& receive() { return *receive_; }

  // A kernel of the sending rank: fills a slot if the FIFO has room.
  void produce(uint32_t channel, uint64_t end) {
    uint64_t& step = sender_.steps[channel];
    const Fifo& fifo = sender_.fifos[channel].fifo;
    const uint64_t head = hostLoadAcquire(*fifo.head);
    ASSERT_LE(head, step) << "released a step that was not sent";
    if (step == end || step - head >= fifo.depth) return;
    const uint64_t bytes = (step * 37) % (kSlotBytes + 1);
    // Every third payload stays outside the slot, where the header says.
    const bool elsewhere = step % 3 == 0;
    std::vector<char>& place = elsewhere_[channel * test_.depth + (step & (test_.depth - 1))];
    place.assign(kSlotBytes, 0);
    char* payload = elsewhere ? place.data() : sender_.payload(channel, step);
    for (uint64_t i = 0; i < bytes; ++i) payload[i] = pattern(channel, step, i);
    hostStoreRelaxed(sender_.header(channel, step).source, elsewhere ? reinterpret_cast<uint64_t>(payload) : 0);
    hostStoreRelaxed(sender_.header(channel, step).bytes, bytes);
    hostStoreRelaxed(sender_.header(channel, step).callHash, step * 3);
    hostStoreRelease(*fifo.tail, ++step);
  }

  // A kernel of the receiving rank: checks the next step if it is there, and wipes it.
  void consume(uint32_t channel) {
    uint64_t& step = receiver_.steps[channel];
    const Fifo& fifo = receiver_.fifos[channel].fifo;
    const uint64_t tail = hostLoadAcquire(*fifo.tail);
    ASSERT_LE(tail - step, fifo.depth);
    if (tail == step) return;
    const uint64_t bytes = (step * 37) % (kSlotBytes + 1);
    ASSERT_EQ(receiver_.header(channel, step).bytes.value, bytes) << "step " << step;
    ASSERT_EQ(receiver_.header(channel, step).callHash.value, step * 3);
    for (uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(receiver_.payload(channel, step)[i], pattern(channel, step, i)) << step;
    std::memset(receiver_.payload(channel, step), 0xee, kSlotBytes);
    hostStoreRelease(*fifo.head, ++step);
  }

  // Until every channel has brought 'count' steps; the order of everything is random.
  void transfer(uint64_t count) {
    const uint64_t end = receiver_.steps[0] + count;
    for (uint64_t turn = 0; !arrived(end); ++turn) {
      ASSERT_LT(turn, count * test_.channels * 4000) << "no progress any more";
      const uint32_t channel = network_.random() % test_.channels;
      switch (network_.random() % 4) {
        case 0: ASSERT_NO_FATAL_FAILURE(produce(channel, end)); break;
        case 1: ASSERT_NO_FATAL_FAILURE(consume(channel)); break;
        case 2: send_->progress(); break;
        case 3: receive_->progress(); break;
      }
    }
  }

  void settle() {
    for (int i = 0; i < 1000; ++i) {
      send_->progress();
      receive_->progress();
    }
  }

 private:
  bool arrived(uint64_t end) const {
    return std::all_of(receiver_.steps.begin(), receiver_.steps.end(), [&](uint64_t step) { return step == end; });
  }

  const Case test_;
  FakeNetwork network_;
  Side sender_;
  Side receiver_;
  std::vector<std::vector<char>> elsewhere_;  // one per slot
  std::unique_ptr<SendConnection> send_;
  std::unique_ptr<ReceiveConnection> receive_;
};

class Connections : public testing::TestWithParam<Case> {};

TEST_P(Connections, BringEveryStepOnceInOrder) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Link run(GetParam(), seed);
    ASSERT_NO_FATAL_FAILURE(run.transfer(200)) << "seed " << seed;
    run.settle();
    EXPECT_FALSE(run.send().busy()) << "seed " << seed;
    EXPECT_FALSE(run.receive().busy()) << "seed " << seed;
    EXPECT_TRUE(run.send().ready());
    EXPECT_TRUE(run.receive().ready());
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Connections,
                         testing::Values(Case{1, 1, 1, 1, 0}, Case{1, 1, 3, 2, 0}, Case{2, 2, 2, 1, 0},
                                         Case{8, 8, 2, 1000, 0}, Case{16, 1, 2, 1, 0}, Case{16, 5, 2, 3, 0},
                                         Case{64, 64, 1, 1000, 0}, Case{64, 16, 4, 7, 0}, Case{16, 16, 2, 4, 1020},
                                         Case{16, 16, 2, 4, 65530}, Case{16, 16, 2, 4, (uint64_t{1} << 31) - 5},
                                         Case{16, 16, 2, 4, (uint64_t{1} << 32) - 5}));

TEST(Connection, SenderIsBusyUntilThePeerHasTakenItsSteps) {
  Link run({4, 4, 1, 8, 0}, 1);
  run.settle();
  EXPECT_FALSE(run.send().busy());
  run.produce(0, 1);
  EXPECT_TRUE(run.send().busy());
  run.settle();
  EXPECT_FALSE(run.send().busy());
}

TEST(Connection, FailureNamesPeerProviderTextAndStep) {
  Link run({4, 4, 1, 8, 7}, 1);
  run.network().failure = "Connection reset by peer: no detail (fake)";
  try {
    run.send().progress();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclSystemError);
    EXPECT_EQ(error.text(), "network to rank 1: Connection reset by peer: no detail (fake); channel 0 at step 7");
  }
}

class CountingClient : public ProxyClient {
 public:
  bool progress() override {
    ++calls;
    return false;
  }
  bool busy() const override { return isBusy; }
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> isBusy{false};
};

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 20000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

// True once the proxy has not called the client for a while.
bool fallsAsleep(const CountingClient& client) {
  return soon([&] {
    const uint64_t before = client.calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return client.calls == before;
  });
}

TEST(ProxyThread, SleepsWhenNobodyIsBusyAndWakes) {
  const auto client = std::make_shared<CountingClient>();
  Proxy proxy(ProxyOptions{.device = 0});
  proxy.add(client);
  ASSERT_TRUE(fallsAsleep(*client));
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = client->calls;
    proxy.wake();
    ASSERT_TRUE(soon([&] { return client->calls > before; })) << "wake " << i;
  }
  client->isBusy = true;
  proxy.wake();
  const uint64_t before = client->calls;
  EXPECT_TRUE(soon([&] { return client->calls > before + 1000; })) << "a busy client is polled without wakes";
  client->isBusy = false;
  EXPECT_TRUE(fallsAsleep(*client));
  proxy.remove(client.get());
  EXPECT_EQ(client.use_count(), 1);
}

TEST(ProxyThread, OnePerDevice) {
  const auto first = Proxy::ofDevice({.device = 3});
  EXPECT_EQ(Proxy::ofDevice({.device = 3}), first);
  EXPECT_NE(Proxy::ofDevice({.device = 4}), first);
}

}  // namespace
}  // namespace rondo::fabric
