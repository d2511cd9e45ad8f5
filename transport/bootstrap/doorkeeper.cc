// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/doorkeeper.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "src/base/error.h"

namespace rondo {

namespace {

constexpr std::chrono::seconds kGreetingTime{5};
constexpr std::chrono::seconds kStarvingTime{10};
constexpr std::chrono::seconds kLongestTick{2};
constexpr size_t kMaxVisitors = 1000;
constexpr size_t kLeastVisitors = 2;
// Connections taken at a time: in a flood the service thread's other work gets its turn.
constexpr int kBatch = 64;

thread_local size_t openDoors = 0;  // of the service thread, so of the process

// Strangers may take at most a quarter of the process's descriptors.
size_t visitorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxVisitors;
  return std::min<size_t>(limit.rlim_cur / 4, kMaxVisitors);
}

}  // namespace

Doorkeeper::Doorkeeper(EventLoop& loop, Fd listener, const wire::Hello& expected, std::string place,
                       std::function<void(Fd, const wire::Hello&)> onGuest)
    : loop_(loop),
      listener_(std::move(listener)),
      expected_(expected),
      complaints_(std::move(place)),
      onGuest_(std::move(onGuest)) {}

void Doorkeeper::open() {
  watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { onListener(); });
  ++openDoors;
}

void Doorkeeper::close() {
  for (Visitor& visitor : visitors_) loop_.forget(visitor.watch, visitor.fd.get());
  visitors_.clear();
  if (watch_ != 0) {
    loop_.forget(watch_, listener_.get());
    --openDoors;
  }
  watch_ = 0;
  listener_.reset();
  complaints_.flush();
}

size_t Doorkeeper::room() const {
  return std::max(visitorLimit() / openDoors, kLeastVisitors);
}

void Doorkeeper::closeCopies() {
  visitors_.clear();
  listener_.reset();
}

void Doorkeeper::onListener() {
  for (int i = 0; i < kBatch && !closed(); ++i) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      welcome(std::move(fd));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return pauseListener();
    // EINTR, ECONNABORTED and errors of the connection itself: it is gone, the next one may be fine.
  }
}

void Doorkeeper::pauseListener() {
  const std::string why = fmt::format("accept: {}", errnoText(errno));
  if (!visitors_.empty()) return drop(visitors_.begin(), why);  // the level-triggered listener calls again at once
  complaints_.add(why + "; trying again");
  const auto now = Clock::now();
  if (now > starvedUntil_ + kLongestTick) starvedFrom_ = now;
  starvedUntil_ = now;
  want_ = why;
  paused_ = true;
  loop_.change(watch_, listener_.get(), 0);
}

std::string Doorkeeper::plight() const {
  return starvedUntil_ - starvedFrom_ >= kStarvingTime ? want_ : "";
}

void Doorkeeper::welcome(Fd fd) {
  starvedFrom_ = starvedUntil_ = {};
  setConnectionOptions(fd.get());
  const VisitorIterator visitor = visitors_.emplace(visitors_.end());
  visitor->address = SocketAddress::ofPeer(fd.get()).text();
  visitor->deadline = Clock::now() + kGreetingTime;
  visitor->fd = std::move(fd);
  // Who has greeted already needs no room, however many silent ones came before and after.
  if (!listenTo(visitor)) return;
  while (visitors_.size() > room()) drop(visitors_.begin(), "too many connections wait for their greeting");
  visitor->watch = loop_.watch(visitor->fd.get(), EPOLLIN, [this, visitor](uint32_t) { listenTo(visitor); });
}

bool Doorkeeper::listenTo(VisitorIterator visitor) {
  const auto refuse = [&](const std::string& why) {
    drop(visitor, why);
    return false;
  };
  char* bytes = reinterpret_cast<char*>(&visitor->hello);
  while (visitor->received < sizeof(wire::Hello)) {
    // Not a byte more than the Hello: what follows belongs to the connection.
    const ssize_t n = recv(visitor->fd.get(), bytes + visitor->received, sizeof(wire::Hello) - visitor->received, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n < 0) return refuse(fmt::format("recv: {}", errnoText(errno)));
    if (n == 0) return refuse("it closed before its greeting");
    visitor->received += static_cast<size_t>(n);
    if (std::memcmp(bytes, &expected_, std::min(visitor->received, wire::kProofBytes)) != 0)
      return refuse("it does not belong to this communicator");
  }
  Fd fd = std::move(visitor->fd);
  const wire::Hello hello = visitor->hello;
  loop_.forget(visitor->watch, fd.get());
  visitors_.erase(visitor);
  onGuest_(std::move(fd), hello);
  return false;
}

void Doorkeeper::drop(VisitorIterator visitor, const std::string& why) {
  complaints_.add(fmt::format("dropped a connection from {}: {}", visitor->address, why));
  loop_.forget(visitor->watch, visitor->fd.get());
  visitors_.erase(visitor);
}

void Doorkeeper::tick(Clock::time_point now) {
  while (!visitors_.empty() && visitors_.front().deadline < now)
    drop(visitors_.begin(), fmt::format("no greeting within {} s", kGreetingTime.count()));
  complaints_.tick(now);
  if (!paused_ || closed()) return;
  paused_ = false;
  loop_.change(watch_, listener_.get(), EPOLLIN);
}

}  // namespace rondo
