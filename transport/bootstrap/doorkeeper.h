// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Accepts connections on a listener and lets in who sends a right Hello. Everyone else (wrong bytes, silent for 5 s,
// reset, too many at a time) is dropped, with a warning as far as complaints.h goes, and never keeps others waiting. A
// guest whose Hello is late may be dropped with the crowd, and then comes back. All doorkeepers of a process together
// hold at most a quarter of its descriptors. Owned by a handler of the event loop; service thread only.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "transport/bootstrap/complaints.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/wire.h"

namespace rondo {

class Doorkeeper {
 public:
  // expected: the magic and secret of a right Hello; place: what the listener is, for warnings. onGuest may close the
  // doorkeeper but not destroy it.
  Doorkeeper(EventLoop& loop, Fd listener, const wire::Hello& expected, std::string place,
             std::function<void(Fd, const wire::Hello&)> onGuest);

  void open();
  void tick(Clock::time_point now);
  void close();
  void closeCopies();  // in a forked child: its own descriptors only
  bool closed() const { return !listener_.valid(); }
  // Why nobody has been let in for 10 s though somebody calls: the process has no descriptors left. Else empty.
  std::string plight() const;

 private:
  struct Visitor {
    Fd fd;
    EventLoop::Watch watch = 0;
    std::string address;
    Clock::time_point deadline;
    wire::Hello hello;
    size_t received = 0;
  };
  using VisitorIterator = std::list<Visitor>::iterator;

  void onListener();
  void welcome(Fd fd);
  bool listenTo(VisitorIterator visitor);  // false: it is gone, as a guest or dropped
  size_t room() const;
  void drop(VisitorIterator visitor, const std::string& why);
  void pauseListener();

  EventLoop& loop_;
  Fd listener_;
  EventLoop::Watch watch_ = 0;
  bool paused_ = false;  // out of descriptors: accepts again at the next tick
  Clock::time_point starvedFrom_{};  // the first and the latest time in a row
  Clock::time_point starvedUntil_{};
  std::string want_;
  wire::Hello expected_;
  Complaints complaints_;
  std::function<void(Fd, const wire::Hello&)> onGuest_;
  std::list<Visitor> visitors_;  // oldest first
};

}  // namespace rondo
