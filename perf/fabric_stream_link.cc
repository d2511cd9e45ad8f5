// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_link.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "error.h"

namespace perf {
namespace {

constexpr uint64_t kMaxFrame = uint64_t{1} << 30;
constexpr int kExplainMs = 1000;

std::string systemError() {
  return std::strerror(errno);
}

}  // namespace

StreamLink::StreamLink(int socket, std::string partner, int timeout_s) : socket_(socket), partner_(std::move(partner)) {
  // A partner that is stopped must not stop this side for ever.
  const timeval limit{timeout_s, 0};
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

StreamLink::~StreamLink() {
  if (socket_ >= 0) close(socket_);
}

StreamLink::StreamLink(StreamLink&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      partner_(std::move(other.partner_)),
      ended_(other.ended_),
      arrived_(std::move(other.arrived_)) {}

std::string StreamLink::localHost() const {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket_, generic, &bytes) != 0 || address.ss_family == AF_UNIX) return "";
  char host[NI_MAXHOST] = "";
  if (getnameinfo(generic, bytes, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

void StreamLink::sendFrame(Kind kind, const std::string& text) {
  const uint64_t bytes = text.size();
  std::string frame(1, static_cast<char>(kind));
  frame.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  frame += text;
  for (size_t done = 0; done < frame.size();) {
    const ssize_t result = ::send(socket_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      checkPartner();  // it may have said why
      fail("{} has ended", partner_);
    }
    if (result < 0) fail("socket to {}: {}", partner_, systemError());
    done += static_cast<size_t>(result);
  }
}

void StreamLink::sendFailure(const std::string& text) noexcept {
  try {
    sendFrame(Kind::Failure, text);
  } catch (const std::exception&) {
    // Nobody is left to be told.
  }
}

void StreamLink::fetch() {
  char piece[65536];
  while (!ended_) {
    const ssize_t result = recv(socket_, piece, sizeof(piece), MSG_DONTWAIT);
    if (result > 0) {
      arrived_.append(piece, static_cast<size_t>(result));
    } else if (result == 0 || errno == ECONNRESET) {
      ended_ = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      fail("socket to {}: {}", partner_, systemError());
    }
  }
}

std::optional<std::pair<StreamLink::Kind, std::string>> StreamLink::takeFrame() {
  uint64_t bytes = 0;
  constexpr size_t kHead = 1 + sizeof(bytes);
  if (arrived_.size() < kHead) return std::nullopt;
  std::memcpy(&bytes, arrived_.data() + 1, sizeof(bytes));
  const char kind = arrived_[0];
  const bool known = kind == static_cast<char>(Kind::Text) || kind == static_cast<char>(Kind::Failure);
  if (!known || bytes > kMaxFrame) fail("{} does not speak fabric_stream's language", partner_);
  if (arrived_.size() - kHead < bytes) return std::nullopt;
  std::pair<Kind, std::string> frame(static_cast<Kind>(kind), arrived_.substr(kHead, bytes));
  arrived_.erase(0, kHead + bytes);
  return frame;
}

void StreamLink::checkPartner() {
  fetch();
  // A text stays for receive(), even if the partner has ended since.
  if (!arrived_.empty() && arrived_[0] == static_cast<char>(Kind::Text)) return;
  if (const auto frame = takeFrame()) fail("{}: {}", partner_, frame->second);
  if (ended_) fail("{} has ended", partner_);
}

std::string StreamLink::receive(const std::function<void()>& meanwhile) {
  for (;;) {
    fetch();
    if (const auto frame = takeFrame()) {
      if (frame->first == Kind::Failure) fail("{}: {}", partner_, frame->second);
      return frame->second;
    }
    if (ended_) fail("{} has ended", partner_);
    meanwhile();
  }
}

std::optional<std::string> StreamLink::explainFailure() {
  try {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kExplainMs);
    while (std::chrono::steady_clock::now() < until) {
      checkPartner();
      pollfd wait{socket_, POLLIN, 0};
      poll(&wait, 1, kExplainMs / 10);
    }
  } catch (const Failure& failure) {
    return failure.what();
  }
  return std::nullopt;
}

}  // namespace perf
