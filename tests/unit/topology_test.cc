// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/topology/topology.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "src/topology/placement.h"
#include "tests/unit/child_process.h"

namespace rondo {
namespace {

using Order = std::vector<uint32_t>;

Order ringOf(const std::vector<Location>& locations) {
  return Topology(locations).ringOrder();
}

Order inRankOrder(size_t ranks) {
  Order order(ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(RingOrderTest, OneHostOfEqualDevicesIsInRankOrder) {
  EXPECT_EQ(ringOf({}), Order());
  EXPECT_EQ(ringOf({{7, 0, 0, 0}}), Order({0}));
  EXPECT_EQ(ringOf(std::vector<Location>(100, {7, 3, 0, 0})), inRankOrder(100));
  std::vector<Location> emulated;
  for (uint64_t device = 0; device < 100; ++device) emulated.push_back({7, device, 0, 0});
  EXPECT_EQ(ringOf(emulated), inRankOrder(100));
}

// 2 hosts x 2 packages x 4 devices; rank r on host r % 2, its devices alternate between the packages.
TEST(RingOrderTest, HostsAndPackagesInterleaved) {
  std::vector<Location> locations;
  for (uint32_t rank = 0; rank < 16; ++rank) {
    const uint32_t device = rank / 2;
    locations.push_back({rank % 2 == 0 ? 900u : 100u, 0x10 + device, device % 2, device % 2});
  }
  EXPECT_EQ(ringOf(locations), Order({0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15}));
}

TEST(RingOrderTest, HostsComeInTheOrderOfTheirLowestRank) {
  EXPECT_EQ(ringOf({{5, 0, 0, 0}, {9, 0, 0, 0}, {1, 0, 0, 0}, {9, 1, 0, 0}, {5, 1, 0, 0}}), Order({0, 4, 1, 3, 2}));
}

TEST(RingOrderTest, LowestRankOfAHostNeedNotBeItsFirst) {
  EXPECT_EQ(ringOf({{5, 0, 1, 0}, {9, 0, 0, 0}, {5, 0, 0, 0}}), Order({2, 0, 1}));
}

TEST(RingOrderTest, PackageThenNumaNodeThenBus) {
  // Bus numbers fall where packages and nodes rise.
  EXPECT_EQ(ringOf({{1, 0x10, 1, 3}, {1, 0x20, 1, 2}, {1, 0x30, 0, 1}, {1, 0x50, 0, 0}, {1, 0x40, 0, 0}}),
            Order({4, 3, 2, 1, 0}));
  // A bus above 32 bits of domain, bus and device.
  EXPECT_EQ(ringOf({{1, uint64_t{0x10000} << 16, 0, 0}, {1, 0xff00, 0, 0}}), Order({1, 0}));
}

TEST(RingOrderTest, RanksOfOneDeviceAreNeighboursInRankOrder) {
  EXPECT_EQ(ringOf({{1, 0xb, 0, 0}, {1, 0xa, 0, 0}, {1, 0xb, 0, 0}, {1, 0xa, 0, 0}, {1, 0xb, 0, 0}}),
            Order({1, 3, 0, 2, 4}));
  const Topology topology({{1, 0xb, 0, 0}, {1, 0xa, 0, 0}, {1, 0xb, 0, 0}, {2, 0xb, 0, 0}});
  EXPECT_EQ(topology.ranksOnDeviceOf(0), 2u);
  EXPECT_EQ(topology.ranksOnDeviceOf(1), 1u);
  EXPECT_EQ(topology.ranksOnDeviceOf(3), 1u);
}

// Any placement of up to 64 ranks: one ring, the same on all, its hosts, packages and devices in one piece each.
TEST(RingOrderTest, EveryGroupIsOnePieceOfTheRing) {
  uint64_t state = 1;
  const auto random = [&](uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33) % below;
  };
  for (uint32_t ranks = 1; ranks <= 64; ++ranks) {
    std::vector<Location> locations;
    for (uint32_t rank = 0; rank < ranks; ++rank) locations.push_back({random(4), random(6), random(3), random(2)});
    const Topology topology(locations);
    const Order order = topology.ringOrder();
    EXPECT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), ranks);
    const auto countPieces = [&](auto&& groupOf) {
      std::set<decltype(groupOf(locations[0]))> groups;
      uint32_t pieces = 0;
      for (uint32_t i = 0; i < ranks; ++i) {
        const auto group = groupOf(locations[order[i]]);
        if (i == 0 || group != groupOf(locations[order[i - 1]])) ++pieces;
        groups.insert(group);
      }
      EXPECT_EQ(pieces, groups.size()) << ranks << " ranks";
    };
    countPieces([](const Location& at) { return at.host; });
    countPieces([](const Location& at) { return std::tuple(at.host, at.package); });
    countPieces([](const Location& at) { return std::tuple(at.host, at.package, at.numaNode); });
    countPieces([](const Location& at) { return std::tuple(at.host, at.package, at.numaNode, at.bus); });
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const Ring ring = makeRing(topology, rank);
      EXPECT_EQ(ring.order, order);
      EXPECT_EQ(order[ring.index], rank);
    }
  }
}

// A machine of 2 packages x 2 NUMA nodes x 2 cores, as hwloc reads it from a file. Devices: 17 at node 1, 65 at node 2
// in domain 1, 9a at package 1 as a whole, c0 nearer to nothing.
class MachineFile {
 public:
  MachineFile() {
    const int fd = mkstemp(path_);
    if (fd < 0) throw std::runtime_error("mkstemp");
    close(fd);
    std::ofstream file(path_);
    file << R"(<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">)";
    open(file, "Machine", 0, 0xff, 0xf, R"( allowed_cpuset="0xff" allowed_nodeset="0xf")");
    for (unsigned package = 0; package < 2; ++package) {
      open(file, "Package", package, 0xfu << 4 * package, 3u << 2 * package);
      for (unsigned node = 2 * package; node < 2 * package + 2; ++node) {
        open(file, "Group", node, 3u << 2 * node, 1u << node, R"( kind="1001" subkind="0")");
        open(file, "NUMANode", node, 3u << 2 * node, 1u << node, R"( local_memory="1073741824")") << "</object>";
        for (unsigned core = 2 * node; core < 2 * node + 2; ++core) {
          open(file, "Core", core, 1u << core, 1u << node);
          open(file, "PU", core, 1u << core, 1u << node) << "</object></object>";
        }
        if (node == 1) addDevice(file, "0000", "17", 0);
        if (node == 2) addDevice(file, "0001", "65", 1);
        file << "</object>";
      }
      if (package == 1) addDevice(file, "0000", "9a", 0);
      file << "</object>";
    }
    addDevice(file, "0000", "c0", 0);
    file << "</object></topology>\n";
  }
  ~MachineFile() { unlink(path_); }

  const char* path() const { return path_; }

 private:
  std::ofstream& open(std::ofstream& file, const char* type, unsigned index, unsigned cores, unsigned nodes,
                      const char* more = "") {
    char text[512];
    std::snprintf(text, sizeof text,
                  "<object type=\"%s\" os_index=\"%u\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" "
                  "complete_nodeset=\"0x%x\" gp_index=\"%u\"%s>\n",
                  type, index, cores, cores, nodes, nodes, ++objects_, more);
    file << text;
    return file;
  }

  void addDevice(std::ofstream& file, const char* domain, const char* bus, unsigned function) {
    char text[512];
    std::snprintf(text, sizeof text,
                  "<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"%s:[%s-%s]\">"
                  "<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"%s:%s:02.%u\" "
                  "pci_type=\"1200 [10de:2335] [10de:18be] a1\" pci_link_speed=\"0.0\"/></object>\n",
                  objects_ + 1, domain, bus, bus, objects_ + 2, domain, bus, function);
    objects_ += 2;
    file << text;
  }

  char path_[32] = "/tmp/rondo-machine-XXXXXX";
  unsigned objects_ = 0;
};

void expectPlace(uint64_t busId, uint32_t package, uint32_t numaNode, const std::vector<uint32_t>& cores) {
  const Placement placement = placeDevice(busId, false);
  EXPECT_EQ(placement.package, package) << std::hex << busId;
  EXPECT_EQ(placement.numaNode, numaNode) << std::hex << busId;
  EXPECT_EQ(placement.cores, cores) << std::hex << busId;
}

TEST(PlacementTest, DevicesOfAMachineWithTwoPackages) {
  const MachineFile machine;
  test::runInChild([&] {
    setenv("HWLOC_XMLFILE", machine.path(), 1);
    setenv("NCCL_HOSTID", "this one", 1);
    expectPlace(0x1702, 0, 1, {2, 3});
    expectPlace(0x16502, 1, 2, {4, 5});
    expectPlace(0x9a02, 1, 2, {4, 5, 6, 7});
    expectPlace(0xc002, 0, 0, {});
    expectPlace(0x6502, 0, 0, {});  // the same bus in another domain
    expectPlace(0x1703, 0, 0, {});
    const Location at = locate(0x16502, false);
    EXPECT_EQ(at.host, hostIdentity());
    EXPECT_EQ(at.bus, 0x16502u);
    EXPECT_EQ(at.package, 1u);
    EXPECT_EQ(at.numaNode, 2u);
  });
}

TEST(PlacementTest, DeviceThatIsNotThere) {
  test::runInChild([] { expectPlace(0xdeadbe1f, 0, 0, {}); });
}

TEST(PlacementTest, EmulatedDevicesLieNowhere) {
  const MachineFile machine;
  test::runInChild([&] {
    setenv("HWLOC_XMLFILE", machine.path(), 1);
    const Placement placement = placeDevice(0x16502, true);
    EXPECT_EQ(placement.package, 0u);
    EXPECT_EQ(placement.numaNode, 0u);
    EXPECT_TRUE(placement.cores.empty());
    EXPECT_EQ(locate(5, true).bus, 5u);
  });
}

TEST(PlacementTest, ManyThreadsAskAtOnce) {
  const MachineFile machine;
  test::runInChild([&] {
    setenv("HWLOC_XMLFILE", machine.path(), 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { expectPlace(0x1702, 0, 1, {2, 3}); });
    for (std::thread& thread : threads) thread.join();
  });
}

std::set<uint32_t> coresOfThread() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<uint32_t> cores;
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.insert(core);
  return cores;
}

void bindThreadTo(uint32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

class BindingTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::set<uint32_t> cores = coresOfThread();
    if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
    first_ = *cores.begin();
    second_ = *std::next(cores.begin());
  }

  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

using Cores = std::set<uint32_t>;

TEST_F(BindingTest, ToTheCoresThatAreNear) {
  test::runInChild([&] {
    bindThreadNear({0, 0, {second_, 100000}}, ProcessBinding::kRespect);
    EXPECT_EQ(coresOfThread(), Cores({second_}));
  });
}

TEST_F(BindingTest, NowhereNearLeavesTheThreadAlone) {
  test::runInChild([&] {
    const Cores before = coresOfThread();
    bindThreadNear({}, ProcessBinding::kRespect);
    bindThreadNear({0, 0, {100000}}, ProcessBinding::kRespect);
    bindThreadNear({0, 0, {100000}}, ProcessBinding::kIgnore);
    EXPECT_EQ(coresOfThread(), before);
  });
}

TEST_F(BindingTest, NoTopologyIsNoError) {
  const auto result = test::runInChild([&] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    setenv("HWLOC_XMLFILE", "/nonexistent", 1);
    const Cores before = coresOfThread();
    expectPlace(0x1702, 0, 0, {});
    bindThreadNear({0, 0, {second_}}, ProcessBinding::kRespect);
    EXPECT_EQ(coresOfThread(), before);
  });
  EXPECT_NE(result.output.find("no topology of this host"), std::string::npos) << result.output;
}

TEST_F(BindingTest, StaysInsideWhatTheProcessWasGiven) {
  test::runInChild([&] {
    bindThreadTo(first_);  // as taskset does
    bindThreadNear({0, 0, {second_}}, ProcessBinding::kRespect);
    EXPECT_EQ(coresOfThread(), Cores({first_}));
    bindThreadNear({0, 0, {second_}}, ProcessBinding::kIgnore);
    EXPECT_EQ(coresOfThread(), Cores({second_}));
  });
}

TEST_F(BindingTest, AThreadBoundByItsCreatorMayUseTheProcesssCores) {
  test::runInChild([&] {
    std::thread([&] {
      bindThreadTo(first_);
      std::thread([&] {
        bindThreadNear({0, 0, {second_}}, ProcessBinding::kRespect);
        EXPECT_EQ(coresOfThread(), Cores({second_}));
      }).join();
    }).join();
  });
}

}  // namespace
}  // namespace rondo
