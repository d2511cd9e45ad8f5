// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One end of a framed TCP connection (wire.h) on the service thread: never blocks, queues what the socket does not
// take. Shared between its owner and its watch. Service thread only, except after detach: then the detaching thread's.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/wire.h"

namespace rondo {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Callbacks {
    std::function<void(wire::FrameType, std::vector<char>)> onFrame;
    // Once, when the peer has closed or reset the connection or broken the protocol, or is out of reach; what: which of
    // these it "has" or "is", to follow its name. Everything that the peer sent before has come as frames. Not after
    // close or finish.
    std::function<void(const std::string& what)> onClosed;
  };
  using Payload = std::shared_ptr<const std::vector<char>>;

  static std::shared_ptr<Connection> open(EventLoop& loop, Fd fd, Callbacks callbacks);
  void setCallbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }

  void send(wire::FrameType type, Payload payload);
  void send(wire::FrameType type, std::vector<char> payload = {});

  // From now on the peer's host is asked for a sign of life while nothing is sent. It answers by itself, also for a
  // process that is stopped. checkReach closes the connection when the host has been silent for this long.
  void watchReach();
  void checkReach(std::chrono::seconds silence);

  // Sends what is queued, then ends the stream and waits for the peer to close. Reads nothing more.
  void finish();
  // Closes now.
  void close();
  // In a forked child: closes the child's descriptor and touches nothing that the parent shares.
  void closeCopy() { fd_.reset(); }
  bool closed() const { return !fd_.valid(); }

  // Takes the connection off the loop. drain then sends what is queued, ends the stream and closes; for any thread.
  void detach();
  void drain(Clock::time_point deadline);

 private:
  Connection(EventLoop& loop, Fd fd, Callbacks callbacks);
  void onEvents(uint32_t events);
  void read();
  void parse();
  bool write();  // false: the connection is broken
  void watchFor();
  void lose(const std::string& what);

  EventLoop& loop_;
  Fd fd_;
  Callbacks callbacks_;
  EventLoop::Watch watch_ = 0;
  uint32_t watched_ = 0;
  std::vector<char> input_;
  std::deque<Payload> output_;
  size_t outputDone_ = 0;  // bytes of output_.front() that are sent
  bool finishing_ = false;
  bool ended_ = false;  // our direction is shut
};

}  // namespace rondo
