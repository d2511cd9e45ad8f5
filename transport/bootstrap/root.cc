// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/root.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo {

namespace {

// How long a root that has failed stays to tell late ranks why. Short where the next job waits for the port.
constexpr std::chrono::seconds kLinger{10};
constexpr std::chrono::seconds kFixedLinger{1};
// How long a root at a fixed address waits for the successor of a rank that died: it may have been a former job's on
// its way out. A rank that is killed is told to the others within this time.
constexpr std::chrono::seconds kSuccessorTime{4};

}  // namespace

Root::Root(EventLoop& loop, Fd listener, RootOptions options)
    : loop_(loop),
      options_(std::move(options)),
      door_(loop, std::move(listener), wire::makeHello(wire::kRootMagic, options_.secret, 0, 0),
            fmt::format("bootstrap at {}", options_.address),
            [this](Fd fd, const wire::Hello& hello) { onGuest(std::move(fd), hello); }) {}

void Root::abandon() {
  if (phase_ == Phase::kCollecting) failAll(ncclRemoteError, 0, "rank 0 gave up its init");
}

// An id that nobody uses costs next to nothing. The doorkeeper is fine with a second.
std::chrono::milliseconds Root::tickPeriod() const {
  return std::chrono::milliseconds(phase_ == Phase::kCollecting && ranks_ == 0 ? 1000 : 50);
}

void Root::onStart() {
  door_.open();
}

void Root::onStop() {
  door_.close();
  for (auto& [rank, guest] : guests_) guest.connection->close();
  for (auto& connection : told_) connection->close();
}

void Root::onGuest(Fd fd, const wire::Hello& hello) {
  const int rank = hello.rank;
  // No callback comes after this root is off the loop: onStop closes every connection.
  auto connection = Connection::open(loop_, std::move(fd), {});
  connection->setCallbacks(
      {[this, rank](wire::FrameType type, std::vector<char> payload) { onFrame(rank, type, std::move(payload)); },
       [this, rank, key = connection.get()](const std::string& what) { onClosed(rank, key, what); }});
  if (phase_ == Phase::kEnding) {
    told_.push_back(connection);
    return tellError(connection);
  }
  const std::string fault = findFault(hello);
  if (!fault.empty()) {
    told_.push_back(connection);
    return failAll(ncclInvalidUsage, hello.rank, fault);
  }
  admit(hello, std::move(connection));
}

std::string Root::findFault(const wire::Hello& hello) const {
  if (hello.version != wire::kVersion)
    return fmt::format(
        "a process speaks version {} of the bootstrap protocol, {} version {}: all ranks must use the same "
        "version of the library",
        hello.version, options_.address, wire::kVersion);
  const std::string who = wire::describe(hello);
  if (hello.ranks < 1 || hello.rank < 0 || hello.rank >= hello.ranks)
    return fmt::format("{} is out of range: {} ranks", who, hello.ranks);
  if (phase_ == Phase::kServing) return fmt::format("{} came when all ranks were there: the id is already used", who);
  if (ranks_ != 0 && hello.ranks != ranks_)
    return fmt::format("ranks disagree on their number: {} says {}, {} says {}",
                       wire::describe(guests_.begin()->second.hello), ranks_, who, hello.ranks);
  const auto same = guests_.find(hello.rank);
  if (same != guests_.end() && !same->second.connection->closed())
    return fmt::format("rank {} was given twice: {} and {}", hello.rank, wire::describe(same->second.hello), who);
  return "";
}

void Root::admit(const wire::Hello& hello, std::shared_ptr<Connection> connection) {
  if (ranks_ == 0) {
    ranks_ = hello.ranks;
    deadline_ = Clock::now() + options_.timeout;
  }
  Guest& guest = guests_[hello.rank];
  guest = Guest{};
  guest.hello = hello;
  guest.connection = std::move(connection);
  const bool complete =
      static_cast<int>(guests_.size()) == ranks_ &&
      std::none_of(guests_.begin(), guests_.end(), [](const auto& entry) { return entry.second.connection->closed(); });
  if (complete) startServing();
}

void Root::startServing() {
  phase_ = Phase::kServing;
  door_.close();  // from here on the id is used up and the port free
  const auto nothing = std::make_shared<const std::vector<char>>();
  for (Guest* guest : ownLast()) guest->connection->send(wire::FrameType::kWelcome, nothing);
}

void Root::onFrame(int rank, wire::FrameType type, std::vector<char> payload) {
  const auto guest = guests_.find(rank);
  if (phase_ == Phase::kEnding || guest == guests_.end()) return;
  if (phase_ == Phase::kServing && type == wire::FrameType::kGather) return onGather(guest->second, std::move(payload));
  if (phase_ == Phase::kServing && type == wire::FrameType::kGoodbye) return onGoodbye(guest->second);
  failAll(ncclInternalError, rank, fmt::format("{} sent an unexpected message", wire::describe(guest->second.hello)));
}

void Root::onGather(Guest& guest, std::vector<char> entry) {
  for (const auto& [rank, other] : guests_) {
    if (other.left)
      return failAll(ncclRemoteError, rank,
                     fmt::format("{} has ended its init, {} has not: its init failed", wire::describe(other.hello),
                                 wire::describe(guest.hello)));
    if (other.contributed && other.entry.size() != entry.size())
      return failAll(ncclInvalidUsage, rank,
                     fmt::format("exchange {}: {} gives {} bytes, {} gives {}", round_, wire::describe(other.hello),
                                 other.entry.size(), wire::describe(guest.hello), entry.size()));
  }
  if (guest.contributed)
    return failAll(ncclInternalError, guest.hello.rank,
                   fmt::format("{} took part twice in exchange {}", wire::describe(guest.hello), round_));
  if (!roundOpen_) deadline_ = Clock::now() + options_.timeout;
  roundOpen_ = true;
  guest.contributed = true;
  guest.entry = std::move(entry);
  if (missing().empty()) finishRound();
}

void Root::finishRound() {
  std::vector<char> all;
  for (auto& [rank, guest] : guests_) {
    all.insert(all.end(), guest.entry.begin(), guest.entry.end());
    guest.entry.clear();
    guest.contributed = false;
  }
  roundOpen_ = false;
  ++round_;
  const auto shared = std::make_shared<const std::vector<char>>(std::move(all));
  for (Guest* guest : ownLast()) guest->connection->send(wire::FrameType::kGathered, shared);
}

// The guests, those of this process last: it may end, and the root with it, as soon as its own rank has its answer.
std::vector<Root::Guest*> Root::ownLast() {
  const wire::Hello own = wire::makeHello(wire::kRootMagic, 0, 0, 0);
  std::vector<Guest*> order;
  for (auto& [rank, guest] : guests_) order.push_back(&guest);
  std::stable_partition(order.begin(), order.end(), [&own](const Guest* guest) {
    return guest->hello.pid != own.pid || std::memcmp(guest->hello.host, own.host, sizeof(own.host)) != 0;
  });
  return order;
}

void Root::onGoodbye(Guest& guest) {
  guest.left = true;
  guest.connection->finish();
  if (roundOpen_)
    return failAll(ncclRemoteError, guest.hello.rank, fmt::format("{} gave up its init", wire::describe(guest.hello)));
  if (std::all_of(guests_.begin(), guests_.end(), [](const auto& entry) { return entry.second.left; }))
    end(std::chrono::seconds(1));
}

void Root::onClosed(int rank, const Connection* connection, const std::string& what) {
  const auto entry = guests_.find(rank);
  if (phase_ == Phase::kEnding || entry == guests_.end() || entry->second.connection.get() != connection) return;
  Guest& guest = entry->second;
  if (options_.fixedAddress && phase_ == Phase::kCollecting) {
    guest.lostAt = Clock::now();
    return;
  }
  failAll(ncclRemoteError, rank,
          fmt::format("{} died or gave up during init: it {}", wire::describe(guest.hello), what));
}

std::vector<int> Root::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto guest = guests_.find(rank);
    const bool here = guest != guests_.end() && !guest->second.connection->closed();
    if (!here || (phase_ == Phase::kServing && !guest->second.contributed)) ranks.push_back(rank);
  }
  return ranks;
}

void Root::checkTimeout(Clock::time_point now) {
  if (const std::string plight = door_.plight(); !plight.empty())
    return failAll(ncclSystemError, -1, fmt::format("no rank can be let in at {}: {}", options_.address, plight));
  if (phase_ == Phase::kCollecting) {
    for (const auto& [rank, guest] : guests_)
      if (guest.connection->closed() && guest.lostAt + kSuccessorTime < now)
        return failAll(ncclRemoteError, rank,
                       fmt::format("{} died or gave up during init", wire::describe(guest.hello)));
    if (ranks_ == 0 || now < deadline_) return;
    const auto ranks = missing();
    return failAll(ncclRemoteError, ranks.front(),
                   fmt::format("{} of {} did not come to {} within {} s (RONDO_INIT_TIMEOUT)", wire::rankText(ranks),
                               ranks_, options_.address, options_.timeout.count()));
  }
  if (!roundOpen_ || now < deadline_) return;
  const auto ranks = missing();
  failAll(ncclRemoteError, ranks.front(),
          fmt::format("{} of {} did not take part in exchange {} of init within {} s (RONDO_INIT_TIMEOUT)",
                      wire::rankText(ranks), ranks_, round_, options_.timeout.count()));
}

void Root::tellError(const std::shared_ptr<Connection>& connection) {
  connection->send(wire::FrameType::kError, wire::packError(error_));
  connection->finish();
}

void Root::failAll(ncclResult_t code, int peer, const std::string& text) {
  error_ = {code, peer, text};
  RONDO_WARN("bootstrap at {}: {}", options_.address, text);
  for (const auto& connection : told_) tellError(connection);
  for (Guest* guest : ownLast()) tellError(guest->connection);
  end(options_.fixedAddress ? kFixedLinger : kLinger);
}

void Root::end(std::chrono::seconds linger) {
  phase_ = Phase::kEnding;
  deadline_ = Clock::now() + linger;
}

// Ends when every connection is closed and nobody else is expected, or at the deadline.
void Root::endIfDone(Clock::time_point now) {
  const auto closed = [](const auto& connection) { return connection->closed(); };
  const bool allClosed =
      std::all_of(told_.begin(), told_.end(), closed) &&
      std::all_of(guests_.begin(), guests_.end(), [&](const auto& entry) { return closed(entry.second.connection); });
  const bool allCame = door_.closed() || static_cast<int>(guests_.size() + told_.size()) >= ranks_;
  if ((allClosed && allCame) || now >= deadline_) loop_.removeLater(this);
}

void Root::onTick(Clock::time_point now) {
  door_.tick(now);
  if (phase_ == Phase::kEnding)
    endIfDone(now);
  else
    checkTimeout(now);
}

}  // namespace rondo
