// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The ranks of a communicator as control planes of one process, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/unit/rank_threads.h"
#include "transport/bootstrap/control.h"

namespace rondo::test {

// One rank's control plane and what it was told.
struct Member {
  std::mutex mutex;
  int errors = 0;
  ncclResult_t code = ncclSuccess;
  int origin = -1;
  std::string text;
  std::atomic<int> ticks{0};
  std::vector<std::pair<int, std::string>> notes;
  std::unique_ptr<ControlPlane> plane;

  int errorCount() {
    std::lock_guard lock(mutex);
    return errors;
  }

  void open(const ncclUniqueId& id, int rank, int ranks) { open(*connectSocketBootstrap(id, rank, ranks, {})); }

  void open(Bootstrap& bootstrap) {
    ControlCallbacks callbacks;
    callbacks.onError = [this](ncclResult_t newCode, int newOrigin, const std::string& newText) {
      std::lock_guard lock(mutex);
      ++errors;
      code = newCode;
      origin = newOrigin;
      text = newText;
    };
    callbacks.onTick = [this] { ++ticks; };
    callbacks.onNote = [this](int rank, const std::vector<char>& content) {
      std::lock_guard lock(mutex);
      notes.emplace_back(rank, std::string(content.begin(), content.end()));
    };
    plane = std::make_unique<ControlPlane>(bootstrap, callbacks, AbortPredicate());
  }
};

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    unsetenv("NCCL_COMM_ID");
    setenv("RONDO_INIT_TIMEOUT", "30", 1);
  }

  using Members = std::vector<std::unique_ptr<Member>>;

  static Members makeMembers(int ranks) {
    Members members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back(std::make_unique<Member>());
    return members;
  }

  // A communicator whose ranks are all in this process.
  static Members openAll(int ranks) {
    const ncclUniqueId id = createUniqueId();
    Members members = makeMembers(ranks);
    expectNoErrors(runRanks(ranks, [&](int rank) { members[static_cast<size_t>(rank)]->open(id, rank, ranks); }));
    return members;
  }

  static void closeAll(Members& members) {
    expectNoErrors(runRanks(static_cast<int>(members.size()), [&](int rank) {
      ControlPlane& plane = *members[static_cast<size_t>(rank)]->plane;
      plane.leave();
      EXPECT_TRUE(plane.waitAllLeft({}, std::chrono::seconds(10)));
      members[static_cast<size_t>(rank)]->plane.reset();
    }));
  }

  static void expectError(Member& member, ncclResult_t code, int origin, const std::string& part) {
    ASSERT_TRUE(waitUntil([&] { return member.errorCount() > 0; }));
    std::lock_guard lock(member.mutex);
    EXPECT_EQ(member.errors, 1);
    EXPECT_EQ(member.code, code) << member.text;
    EXPECT_EQ(member.origin, origin) << member.text;
    EXPECT_NE(member.text.find(part), std::string::npos) << member.text;
  }
};

}  // namespace rondo::test
