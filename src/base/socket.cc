// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

#include "src/base/error.h"

namespace rondo {

namespace {

constexpr std::chrono::milliseconds kSlice{50};

struct HostPort {
  std::string host;
  std::string port;
};

HostPort splitAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  HostPort parts;
  if (colon != std::string::npos && colon > 0) {
    parts.host = text.substr(0, colon);
    parts.port = text.substr(colon + 1);
  }
  if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']')
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  else if (parts.host.find_first_of("[]:") != std::string::npos)
    parts.host.clear();
  uint16_t port = 0;
  const char* end = parts.port.data() + parts.port.size();
  const auto [stop, error] = std::from_chars(parts.port.data(), end, port);
  if (parts.host.empty() || error != std::errc() || stop != end || port == 0)
    fail(ncclInvalidArgument, "\"{}\" is not an address: must be host:port or [IPv6]:port, port 1 to 65535", text);
  return parts;
}

std::vector<SocketAddress> lookUp(const HostPort& parts, int family, int flags, int* error) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  *error = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &list);
  std::vector<SocketAddress> result;
  if (*error != 0) return result;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) result.emplace_back(entry->ai_addr);
  return result;
}

// Waits until the descriptor is ready (or has an error); false when the deadline has passed.
bool waitReady(int fd, short events, const Patience& patience) {
  for (;;) {
    patience.check();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(patience.deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{fd, events, 0};
    const int n = poll(&entry, 1, static_cast<int>(std::min(left, kSlice).count()));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) failErrno("poll");
  }
}

bool shallWait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address) {
  std::memcpy(&storage_, address, address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
}

std::vector<SocketAddress> SocketAddress::resolve(const std::string& text, int family) {
  int error = 0;
  auto result = lookUp(splitAddress(text), family, 0, &error);
  if (result.empty())
    fail(ncclSystemError, "no address for \"{}\": getaddrinfo: {}", text,
         error == EAI_SYSTEM ? errnoText(errno) : gai_strerror(error));
  return result;
}

SocketAddress SocketAddress::any(int family, uint16_t port) {
  SocketAddress result;
  result.storage_.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&result.storage_)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(&result.storage_)->sin_port = htons(port);
  return result;
}

SocketAddress SocketAddress::ofSocket(int fd) {
  SocketAddress result;
  socklen_t bytes = sizeof(result.storage_);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&result.storage_), &bytes) != 0) failErrno("getsockname");
  return result;
}

SocketAddress SocketAddress::ofPeer(int fd) {
  SocketAddress result;
  socklen_t bytes = sizeof(result.storage_);
  // A peer that is gone already has no address any more; the text says so.
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&result.storage_), &bytes) != 0) result.storage_ = {};
  return result;
}

std::string SocketAddress::hostText() const {
  char host[NI_MAXHOST];
  if (getnameinfo(get(), bytes(), host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0) return "unknown address";
  return host;
}

std::string SocketAddress::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", hostText(), port()) : fmt::format("{}:{}", hostText(), port());
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

bool SocketAddress::isLoopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 24) == 127;
}

bool SocketAddress::isLinkLocal() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 16) == 0xa9fe;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  if (family() != other.family() || port() != other.port()) return false;
  if (family() == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&other.storage_)->sin_addr.s_addr;
  return IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr,
                            &reinterpret_cast<const sockaddr_in6*>(&other.storage_)->sin6_addr);
}

bool isNumericAddress(const std::string& text) {
  int error = 0;
  return !lookUp(splitAddress(text), AF_UNSPEC, AI_NUMERICHOST, &error).empty();
}

void Patience::check() const {
  if (aborted && aborted()) fail(ncclInvalidUsage, "the communicator was aborted while it was being made");
}

std::string IoResult::text() const {
  switch (status) {
    case Status::kDone:
      return "done";
    case Status::kClosed:
      return error == 0 ? "connection closed by the peer" : errnoText(error);
    case Status::kTimedOut:
      return "timed out";
  }
  return "?";
}

Fd listenOn(const SocketAddress& address, int* error, const char** call) {
  *call = "socket";
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  // Old connections in TIME_WAIT must not keep a restart from its port.
  if (fd.valid()) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (fd.valid()) *call = "bind";
  if (fd.valid() && bind(fd.get(), address.get(), address.bytes()) == 0) {
    *call = "listen";
    if (listen(fd.get(), SOMAXCONN) == 0) return fd;
  }
  *error = errno;
  return Fd();
}

Fd listenOn(const SocketAddress& address) {
  int error = 0;
  const char* call = "";
  Fd fd = listenOn(address, &error, &call);
  if (!fd.valid()) failErrno(error, fmt::format("cannot listen on {}: {}", address.text(), call));
  return fd;
}

void setConnectionOptions(int fd) {
  const int on = 1;
  const int off = 0;
  // Failures here cost speed at most, and a socket whose peer is gone already may refuse.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof(off));
  // Lets a listener take over a port that the system gave to this end of a connection.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

Fd connectTo(const SocketAddress& address, const Patience& patience, IoResult* result) {
  *result = {};
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) failErrno(fmt::format("socket for {}", address.text()));
  setConnectionOptions(fd.get());
  int error = connect(fd.get(), address.get(), address.bytes()) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    if (!waitReady(fd.get(), POLLOUT, patience)) {
      result->status = IoResult::Status::kTimedOut;
      return Fd();
    }
    socklen_t bytes = sizeof(error);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  }
  // Where nobody listens on a port of the ephemeral range, TCP can connect a socket to itself.
  if (error == 0 && SocketAddress::ofSocket(fd.get()) == SocketAddress::ofPeer(fd.get())) {
    const linger now{1, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    error = ECONNREFUSED;
  }
  if (error == 0) return fd;
  *result = {IoResult::Status::kClosed, error};
  return Fd();
}

IoResult sendAll(int fd, const void* data, size_t bytes, const Patience& patience) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = send(fd, next, bytes, MSG_NOSIGNAL);
    if (n >= 0) {
      next += n;
      bytes -= static_cast<size_t>(n);
    } else if (shallWait(errno)) {
      if (!waitReady(fd, POLLOUT, patience)) return {IoResult::Status::kTimedOut, 0};
    } else if (errno != EINTR) {
      return {IoResult::Status::kClosed, errno};
    }
  }
  return {};
}

IoResult receiveAll(int fd, void* data, size_t bytes, const Patience& patience) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = recv(fd, next, bytes, 0);
    if (n == 0) return {IoResult::Status::kClosed, 0};
    if (n > 0) {
      next += n;
      bytes -= static_cast<size_t>(n);
    } else if (shallWait(errno)) {
      if (!waitReady(fd, POLLIN, patience)) return {IoResult::Status::kTimedOut, 0};
    } else if (errno != EINTR) {
      return {IoResult::Status::kClosed, errno};
    }
  }
  return {};
}

void pause(std::chrono::milliseconds time, const Patience& patience) {
  const auto end = std::min(Clock::now() + time, patience.deadline);
  for (;;) {
    patience.check();
    const auto left = end - Clock::now();
    if (left <= Clock::duration::zero()) return;
    std::this_thread::sleep_for(std::min<Clock::duration>(left, kSlice));
  }
}

}  // namespace rondo
