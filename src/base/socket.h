// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// TCP sockets for host threads: addresses as text, listeners, and transfers that wait in short slices so that an abort
// or a deadline ends them. Every descriptor is non-blocking and closed on exec. A socket belongs to one thread at a
// time.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/fd.h"

namespace rondo {

using Clock = std::chrono::steady_clock;

class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const sockaddr* address);  // AF_INET or AF_INET6

  // "host:port" with a name, an IPv4 address or an [IPv6 address, with %interface if link-local]: every address it has.
  // family AF_UNSPEC: both. Throws InvalidArgument for the form, SystemError when the name has no address.
  static std::vector<SocketAddress> resolve(const std::string& text, int family);
  static SocketAddress any(int family, uint16_t port);
  static SocketAddress ofSocket(int fd);
  static SocketAddress ofPeer(int fd);

  std::string text() const;  // numeric, in the form resolve reads
  std::string hostText() const;
  int family() const { return storage_.ss_family; }
  bool isLoopback() const;
  bool isLinkLocal() const;
  uint16_t port() const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

// True for "1.2.3.4:5" and "[::1]:5", false for a host name.
bool isNumericAddress(const std::string& text);

// How long to wait. aborted (may be empty) is asked every 50 ms; when it says true the wait throws
// Error(ncclInvalidUsage, "... aborted").
struct Patience {
  std::function<bool()> aborted;
  Clock::time_point deadline;

  void check() const;
};

// kClosed: the peer has closed or reset the connection, or the call failed; error is the errno (0: orderly end).
struct IoResult {
  enum class Status { kDone, kClosed, kTimedOut };
  Status status = Status::kDone;
  int error = 0;

  bool done() const { return status == Status::kDone; }
  std::string text() const;
};

// A listener on this address (port 0: any). An invalid Fd with the errno in *error and the call in *call if it fails.
Fd listenOn(const SocketAddress& address, int* error, const char** call);
// The same, but throws.
Fd listenOn(const SocketAddress& address);

// One attempt to connect. On failure the Fd is invalid and *result says why.
Fd connectTo(const SocketAddress& address, const Patience& patience, IoResult* result);

IoResult sendAll(int fd, const void* data, size_t bytes, const Patience& patience);
IoResult receiveAll(int fd, void* data, size_t bytes, const Patience& patience);

// Sleeps, but not past the deadline; throws on abort.
void pause(std::chrono::milliseconds time, const Patience& patience);

// A connected or accepted socket: no delay of small messages, no keepalive probes.
void setConnectionOptions(int fd);

}  // namespace rondo
