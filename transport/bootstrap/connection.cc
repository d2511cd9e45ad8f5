// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/connection.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "src/base/error.h"

namespace rondo {

namespace {
constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 28;
constexpr size_t kReadBytes = 65536;

// An idle connection asks after 10 s, then every 5 s. The kernel's own verdict (over 10 minutes) comes after
// checkReach's.
constexpr int kProbeAfterSeconds = 10;
constexpr int kProbeEverySeconds = 5;
constexpr int kMostProbes = 127;

std::string describeEnd(int error) {
  if (error == 0) return "has closed its connection";
  if (error == ECONNRESET || error == EPIPE) return fmt::format("has closed its connection: {}", errnoText(error));
  return fmt::format("is out of reach: {}", errnoText(error));
}

// How long the peer's host has not answered what this one has sent: data, probes of an idle connection, or probes of a
// closed window.
std::chrono::milliseconds silenceOf(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  // A process that is stopped lets the window close. Its host answers the probes of it, which become as rare as one in
  // two minutes: only one without an answer counts.
  int unsent = 0;
  const bool queued = ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0;
  if (queued && info.tcpi_unacked == 0 && info.tcpi_probes == 0) return {};
  return std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
}
}  // namespace

Connection::Connection(EventLoop& loop, Fd fd, Callbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), callbacks_(std::move(callbacks)) {}

std::shared_ptr<Connection> Connection::open(EventLoop& loop, Fd fd, Callbacks callbacks) {
  std::shared_ptr<Connection> connection(new Connection(loop, std::move(fd), std::move(callbacks)));
  connection->watched_ = EPOLLIN;
  connection->watch_ =
      loop.watch(connection->fd_.get(), EPOLLIN, [connection](uint32_t events) { connection->onEvents(events); });
  return connection;
}

void Connection::detach() {
  if (watch_ != 0) loop_.forget(watch_, fd_.get());
  watch_ = 0;
  callbacks_ = {};
}

void Connection::close() {
  detach();
  fd_.reset();
}

void Connection::send(wire::FrameType type, std::vector<char> payload) {
  send(type, std::make_shared<const std::vector<char>>(std::move(payload)));
}

void Connection::send(wire::FrameType type, Payload payload) {
  if (closed() || finishing_) return;
  const wire::FrameHeader header{static_cast<uint32_t>(type), 0, payload->size()};
  const char* bytes = reinterpret_cast<const char*>(&header);
  output_.push_back(std::make_shared<const std::vector<char>>(bytes, bytes + sizeof(header)));
  if (!payload->empty()) output_.push_back(std::move(payload));
  // A broken connection is noticed by the next read, which first hands over what the peer has sent.
  if (write()) watchFor();
}

void Connection::finish() {
  if (closed() || finishing_) return;
  finishing_ = true;
  if (write()) watchFor();
}

bool Connection::write() {
  while (!output_.empty()) {
    const std::vector<char>& front = *output_.front();
    const ssize_t n = ::send(fd_.get(), front.data() + outputDone_, front.size() - outputDone_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n < 0) {
      output_.clear();
      return false;
    }
    outputDone_ += static_cast<size_t>(n);
    if (outputDone_ < front.size()) continue;
    output_.pop_front();
    outputDone_ = 0;
  }
  if (finishing_ && !ended_) {
    ended_ = true;
    shutdown(fd_.get(), SHUT_WR);
  }
  return true;
}

void Connection::watchFor() {
  const uint32_t wanted = EPOLLIN | (output_.empty() ? 0u : static_cast<uint32_t>(EPOLLOUT));
  if (watch_ == 0 || wanted == watched_) return;
  loop_.change(watch_, fd_.get(), wanted);
  watched_ = wanted;
}

void Connection::onEvents(uint32_t events) {
  if ((events & EPOLLOUT) != 0) write();
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) read();
  if (!closed()) watchFor();
}

void Connection::read() {
  while (!closed()) {
    const size_t before = input_.size();
    input_.resize(before + kReadBytes);
    const ssize_t n = recv(fd_.get(), input_.data() + before, kReadBytes, 0);
    const int error = errno;
    input_.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0) {
      parse();
      continue;
    }
    if (n < 0 && error == EINTR) continue;
    if (n < 0 && (error == EAGAIN || error == EWOULDBLOCK)) return;
    return lose(describeEnd(n == 0 ? 0 : error));
  }
}

void Connection::parse() {
  size_t next = 0;
  while (!closed() && !finishing_ && input_.size() - next >= sizeof(wire::FrameHeader)) {
    wire::FrameHeader header;
    std::memcpy(&header, input_.data() + next, sizeof(header));
    if (header.bytes > kMaxFrameBytes) return lose("has sent a message that is too long");
    if (input_.size() - next < sizeof(header) + header.bytes) break;
    const auto begin = input_.begin() + static_cast<ptrdiff_t>(next + sizeof(header));
    std::vector<char> payload(begin, begin + static_cast<ptrdiff_t>(header.bytes));
    next += sizeof(header) + header.bytes;
    if (callbacks_.onFrame) {
      const auto onFrame = callbacks_.onFrame;  // stays alive when it closes this connection
      onFrame(static_cast<wire::FrameType>(header.type), std::move(payload));
    }
  }
  if (finishing_ || closed())
    input_.clear();
  else
    input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(next));
}

// TCP_USER_TIMEOUT would do it for less, but also end the connection of a process that is stopped with a full window.
void Connection::watchReach() {
  const int on = 1;
  setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &kProbeAfterSeconds, sizeof(kProbeAfterSeconds));
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, &kProbeEverySeconds, sizeof(kProbeEverySeconds));
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, &kMostProbes, sizeof(kMostProbes));
}

void Connection::checkReach(std::chrono::seconds silence) {
  if (closed() || silenceOf(fd_.get()) < silence) return;
  lose(fmt::format("is out of reach: no answer from its host for {} s: {}", silence.count(), errnoText(ETIMEDOUT)));
}

void Connection::lose(const std::string& what) {
  const auto onClosed = finishing_ ? nullptr : std::move(callbacks_.onClosed);
  close();
  if (onClosed) onClosed(what);
}

void Connection::drain(Clock::time_point deadline) {
  if (closed()) return;
  const Patience patience{{}, deadline};
  for (; !output_.empty(); output_.pop_front(), outputDone_ = 0) {
    const std::vector<char>& front = *output_.front();
    if (!sendAll(fd_.get(), front.data() + outputDone_, front.size() - outputDone_, patience).done()) break;
  }
  shutdown(fd_.get(), SHUT_WR);
  // Closing with unread bytes would reset the connection and might take what was just sent from the peer.
  char unread[4096];
  while (recv(fd_.get(), unread, sizeof(unread), 0) > 0) {
  }
  fd_.reset();
}

}  // namespace rondo
