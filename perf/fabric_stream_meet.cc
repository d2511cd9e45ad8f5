// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How fabric_stream's two processes get the socket of their link.
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "error.h"
#include "fabric_stream_link.h"

namespace perf {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const char* flag, const HostPort& place, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &list);
  if (error != 0) failUsage("{} {}:{}: {}", flag, place.host, place.port, gai_strerror(error));
  return {list, &freeaddrinfo};
}

class Socket {
 public:
  explicit Socket(const addrinfo& address)
      : number_(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol)) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

std::pair<int, int> makeSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair: {}", std::strerror(errno));
  return {ends[0], ends[1]};
}

int listenForPartner(const HostPort& at, int timeout_s) {
  const AddressList list = resolve("--listen", at, AI_PASSIVE);
  Socket listener(*list);
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0 || listen(listener.get(), 1) != 0) {
    failUsage("--listen {}:{}: {}", at.host, at.port, std::strerror(errno));
  }
  pollfd wait{listener.get(), POLLIN, 0};
  const int ready = poll(&wait, 1, timeout_s * 1000);
  if (ready == 0) fail("--listen {}:{}: nobody connected within {} s (--timeout)", at.host, at.port, timeout_s);
  const int accepted = ready > 0 ? accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC) : -1;
  if (accepted < 0) fail("--listen {}:{}: {}", at.host, at.port, std::strerror(errno));
  return accepted;
}

int connectToPartner(const HostPort& to, int timeout_s) {
  const AddressList list = resolve("--connect", to, 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
  // The receiver may be started later than the sender.
  for (;;) {
    int reason = 0;
    for (const addrinfo* each = list.get(); each; each = each->ai_next) {
      Socket attempt(*each);
      const timeval limit{timeout_s, 0};
      setsockopt(attempt.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));  // bounds connect, too
      if (connect(attempt.get(), each->ai_addr, each->ai_addrlen) == 0) return attempt.release();
      reason = errno;
    }
    if (std::chrono::steady_clock::now() > until) {
      fail("--connect {}:{}: {} (after {} s, --timeout)", to.host, to.port, std::strerror(reason), timeout_s);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace perf
