// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The root of a bootstrap: collects the Hello of every rank, checks that they fit together, serves their exchanges, and
// tells everyone the first error. It lives on the service thread, owned by the event loop alone, and ends by itself
// when every rank has said goodbye or has been told the error. One that no rank ever comes to stays as long as its
// process: nobody can tell an id that will not be used from one that is used late.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/bootstrap/connection.h"
#include "transport/bootstrap/doorkeeper.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/wire.h"

namespace rondo {

struct RootOptions {
  uint64_t secret = 0;
  bool fixedAddress = false;  // NCCL_COMM_ID: a former job's ranks may still come, and the next job wants the port
  std::chrono::seconds timeout{0};
  std::string address;
};

class Root : public EventHandler {
 public:
  Root(EventLoop& loop, Fd listener, RootOptions options);

  // Rank 0, for whom the root was opened, has given up. Service thread only.
  void abandon();

  void onStart() override;
  void onTick(Clock::time_point now) override;
  void onStop() override;
  std::chrono::milliseconds tickPeriod() const override;

 private:
  enum class Phase { kCollecting, kServing, kEnding };

  struct Guest {
    wire::Hello hello{};
    std::shared_ptr<Connection> connection;
    bool left = false;
    bool contributed = false;
    std::vector<char> entry;
    Clock::time_point lostAt{};  // collecting on a fixed address: a successor may come
  };

  void onGuest(Fd fd, const wire::Hello& hello);
  std::string findFault(const wire::Hello& hello) const;
  void admit(const wire::Hello& hello, std::shared_ptr<Connection> connection);
  void startServing();
  void onFrame(int rank, wire::FrameType type, std::vector<char> payload);
  void onGather(Guest& guest, std::vector<char> entry);
  void onGoodbye(Guest& guest);
  void onClosed(int rank, const Connection* connection, const std::string& what);
  void finishRound();
  void checkTimeout(Clock::time_point now);
  std::vector<Guest*> ownLast();
  void tellError(const std::shared_ptr<Connection>& connection);
  void failAll(ncclResult_t code, int peer, const std::string& text);
  void end(std::chrono::seconds linger);
  void endIfDone(Clock::time_point now);
  std::vector<int> missing() const;

  EventLoop& loop_;
  RootOptions options_;
  Doorkeeper door_;
  Phase phase_ = Phase::kCollecting;
  int ranks_ = 0;  // 0: no rank has come yet
  std::map<int, Guest> guests_;
  std::vector<std::shared_ptr<Connection>> told_;  // ranks that have no place in guests_
  Clock::time_point deadline_;                     // of collecting, of the round, or of the end
  bool roundOpen_ = false;
  int round_ = 0;
  wire::ErrorReport error_;
};

}  // namespace rondo
