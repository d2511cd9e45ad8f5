// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A rank's side of the socket bootstrap, on the thread that runs its init.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/interfaces.h"
#include "src/base/log.h"
#include "transport/bootstrap/bootstrap.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/init_timeout.h"
#include "transport/bootstrap/root.h"
#include "transport/bootstrap/unique_id.h"
#include "transport/bootstrap/wire.h"

namespace rondo {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The root names absent ranks when the time is over; only if it does not answer at all do ranks give up by themselves.
constexpr seconds kAnswerGrace{10};
// How long a passing fault of the network (no route yet) is tried again.
constexpr seconds kNetworkPatience{10};
// At a fixed address a rank 0 that went without a word may have been a former job's: how long its successor is waited
// for.
constexpr seconds kSuccessorPatience{5};
// How long rank 0 tries again when the port of NCCL_COMM_ID is taken: the job before may be on its way out.
constexpr seconds kPortPatience{15};

// A root that is flooded by strangers may drop a rank with them: how often that rank comes back.
constexpr int kMaxReturns = 20;

std::shared_ptr<Root> startRoot(Fd listener, const IdContent& id) {
  auto& loop = EventLoop::get();
  auto root = std::make_shared<Root>(loop, std::move(listener),
                                     RootOptions{id.secret, id.fixedAddress, initTimeout(), id.address});
  loop.add(root);
  return root;
}

class SocketBootstrap : public Bootstrap {
 public:
  SocketBootstrap(const IdContent& id, int rank, int ranks, const AbortPredicate& aborted)
      : id_(id), rank_(rank), ranks_(ranks), pid_(getpid()), aborted_(aborted), timeout_(initTimeout()) {
    const Patience patience{aborted_, Clock::now() + timeout_ + kAnswerGrace};
    const auto root = id_.fixedAddress && rank_ == 0 ? openFixedRoot(patience) : nullptr;
    try {
      while (!join(patience)) pause(nextPause(), patience);
    } catch (...) {
      // Without rank 0 nobody needs its root; those who came are told.
      if (root) EventLoop::get().post([root] { root->abandon(); });
      throw;
    }
  }

  ~SocketBootstrap() override {
    if (pid_ != getpid()) return;  // a forked child's copy: the connection is the parent's
    const Patience patience{{}, Clock::now() + seconds(1)};
    const wire::FrameHeader header{static_cast<uint32_t>(wire::FrameType::kGoodbye), 0, 0};
    sendAll(fd_.get(), &header, sizeof(header), patience);
  }

  int rank() const override { return rank_; }
  int size() const override { return ranks_; }

  void allGather(void* all, size_t bytesPerRank) override {
    const Patience patience{aborted_, Clock::now() + timeout_ + kAnswerGrace};
    const wire::FrameHeader header{static_cast<uint32_t>(wire::FrameType::kGather), 0, bytesPerRank};
    const char* own = static_cast<char*>(all) + static_cast<size_t>(rank_) * bytesPerRank;
    // A failure to send shows in receive, after the error that the root may have sent.
    if (sendAll(fd_.get(), &header, sizeof(header), patience).done()) sendAll(fd_.get(), own, bytesPerRank, patience);
    const auto got = receiveHeader(patience);
    if (!got.done()) failLost(got);
    if (header_.type != static_cast<uint32_t>(wire::FrameType::kGathered) ||
        header_.bytes != bytesPerRank * static_cast<size_t>(ranks_))
      fail(ncclInternalError, "rank {}: unexpected answer {} of {} bytes from the bootstrap at {}", rank_, header_.type,
           header_.bytes, id_.address);
    const IoResult rest = receiveAll(fd_.get(), all, header_.bytes, patience);
    if (!rest.done()) failLost(rest);
  }

 private:
  // One attempt to connect and be welcomed; false: try again.
  bool join(const Patience& patience) {
    IoResult result;
    fd_ = connectTo(nextAddress(), patience, &result);
    const bool connected = fd_.valid();
    if (connected) {
      const wire::Hello hello = wire::makeHello(wire::kRootMagic, id_.secret, rank_, ranks_);
      result = sendAll(fd_.get(), &hello, sizeof(hello), patience);
      if (result.done()) result = receiveHeader(patience);
      if (result.done() && header_.type == static_cast<uint32_t>(wire::FrameType::kWelcome)) return true;
      if (result.done()) fail(ncclInternalError, "rank {}: unexpected answer from {}", rank_, id_.address);
      fd_.reset();
    }
    if (!mayRetry(result, connected)) failConnect(result, connected);
    return false;
  }

  bool mayRetry(const IoResult& result, bool connected) {
    if (result.status == IoResult::Status::kTimedOut) return false;
    // At a fixed address rank 0 may not be there yet, or a root of the job before may just have gone.
    // One that had this rank and is gone without a word has died: its successor, if any, is given a little time.
    if (id_.fixedAddress && connected && lost_ == Clock::time_point::max()) lost_ = Clock::now();
    if (id_.fixedAddress)
      return Clock::now() < started_ + timeout_ &&
             (lost_ == Clock::time_point::max() || Clock::now() < lost_ + kSuccessorPatience);
    if (connected) return ++returns_ <= kMaxReturns;
    const bool passing = result.error == EHOSTUNREACH || result.error == ENETUNREACH || result.error == EADDRNOTAVAIL ||
                         result.error == ETIMEDOUT || result.error == EAGAIN;
    return passing && Clock::now() < started_ + kNetworkPatience;
  }

  // Who serves the bootstrap, and where.
  std::string server() const {
    if (id_.fixedAddress) return fmt::format("rank 0 at NCCL_COMM_ID={}", id_.address);
    return fmt::format("the process {}, which made the unique id, at {}", id_.maker, id_.address);
  }

  [[noreturn]] void failConnect(const IoResult& result, bool connected) const {
    if (lost_ != Clock::time_point::max())
      fail(ncclRemoteError, "rank {} lost {} during init: its process has ended", rank_, server());
    if (connected && result.status == IoResult::Status::kTimedOut) failSilent();
    if (id_.fixedAddress)
      fail(ncclRemoteError, "rank {} cannot reach {} within {} s (RONDO_INIT_TIMEOUT): {}: {}", rank_, server(),
           timeout_.count(), connected ? "recv" : "connect", result.text());
    if (connected || result.error == ECONNREFUSED)
      fail(returns_ > 0 ? ncclRemoteError : ncclInvalidUsage, "rank {} {} {}: {}: {}; {}", rank_,
           returns_ > 0 ? "lost" : "cannot join", server(), connected ? "recv" : "connect", result.text(),
           "the id is already used, or the process has ended");
    fail(ncclSystemError, "rank {} cannot reach {}: connect: {}", rank_, server(), result.text());
  }

  [[noreturn]] void failLost(const IoResult& result) const {
    if (result.status == IoResult::Status::kTimedOut) failSilent();
    fail(ncclRemoteError, "rank {} lost {} during init: recv: {}; its process has ended", rank_, server(),
         result.text());
  }

  [[noreturn]] void failSilent() const {
    fail(ncclRemoteError, "rank {}: no answer from {} within {} s", rank_, server(), (timeout_ + kAnswerGrace).count());
  }

  // Receives the next frame's header; an error frame is thrown.
  IoResult receiveHeader(const Patience& patience) {
    IoResult result = receiveAll(fd_.get(), &header_, sizeof(header_), patience);
    if (!result.done() || header_.type != static_cast<uint32_t>(wire::FrameType::kError)) return result;
    std::vector<char> payload(std::min<uint64_t>(header_.bytes, 65536));
    result = receiveAll(fd_.get(), payload.data(), payload.size(), patience);
    if (!result.done()) return result;
    const wire::ErrorReport report = wire::unpackError(payload);
    throw Error(report.code, fmt::format("rank {}: {}", rank_, report.text), report.peer);
  }

  // The name is looked up again at each attempt, its addresses are tried in turn.
  SocketAddress nextAddress() {
    if (ownRoot_) return *ownRoot_;
    const auto addresses = SocketAddress::resolve(id_.address, id_.fixedAddress ? socketFamily() : AF_UNSPEC);
    return addresses[attempt_++ % addresses.size()];
  }

  milliseconds nextPause() {
    pause_ = std::min(pause_ * 2, milliseconds(100));
    return pause_;
  }

  std::shared_ptr<Root> openFixedRoot(const Patience& patience) {
    const auto end = std::min(Clock::now() + kPortPatience, Clock::now() + timeout_);
    for (;; pause(milliseconds(100), patience)) {
      int error = 0;
      const char* call = "";
      const SocketAddress address = rootAddress();
      Fd listener = listenOn(address, &error, &call);
      if (listener.valid()) {
        ownRoot_ = reachable(SocketAddress::ofSocket(listener.get()));
        log::info(log::kInit | log::kBootstrap, "Bootstrap: rank 0 listens on {}", address.text());
        return startRoot(std::move(listener), id_);
      }
      if (error != EADDRINUSE || Clock::now() >= end)
        failErrno(error, fmt::format("rank 0 cannot listen on NCCL_COMM_ID={}: {}", id_.address, call));
    }
  }

  // A number is taken literally. A name may stand for another address here than on other hosts: every interface then.
  SocketAddress rootAddress() const {
    const SocketAddress first = SocketAddress::resolve(id_.address, socketFamily()).front();
    return isNumericAddress(id_.address) ? first : SocketAddress::any(first.family(), first.port());
  }

  static SocketAddress reachable(const SocketAddress& bound) {
    if (!isAny(bound)) return bound;
    const std::string host = bound.family() == AF_INET6 ? "[::1]" : "127.0.0.1";
    return SocketAddress::resolve(fmt::format("{}:{}", host, bound.port()), AF_UNSPEC).front();
  }

  static bool isAny(const SocketAddress& address) {
    return address == SocketAddress::any(address.family(), address.port());
  }

  const IdContent id_;
  const int rank_;
  const int ranks_;
  const pid_t pid_;
  const AbortPredicate aborted_;
  const seconds timeout_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point lost_ = Clock::time_point::max();  // fixed address: when rank 0 went without a word
  std::optional<SocketAddress> ownRoot_;
  size_t attempt_ = 0;
  int returns_ = 0;
  milliseconds pause_{5};
  Fd fd_;
  wire::FrameHeader header_{};
};

}  // namespace

seconds initTimeout() {
  return seconds(env::integer("RONDO_INIT_TIMEOUT", 1, 86400).value_or(600));
}

ncclUniqueId createUniqueId() {
  IdContent content;
  if (const auto fixed = env::text("NCCL_COMM_ID")) {
    content.fixedAddress = true;
    content.address = *fixed;
    content.secret = secretOf(*fixed);
    isNumericAddress(*fixed);  // throws unless it has the form of an address
    return encodeId(content);
  }
  Fd listener = listenOnInterface();
  content.secret = randomBits();
  content.address = SocketAddress::ofSocket(listener.get()).text();
  content.maker = processName();
  const ncclUniqueId id = encodeId(content);
  startRoot(std::move(listener), content);
  return id;
}

std::unique_ptr<Bootstrap> connectSocketBootstrap(const ncclUniqueId& id, int rank, int ranks,
                                                  const AbortPredicate& aborted) {
  if (ranks < 1) fail(ncclInvalidArgument, "{} ranks: must be at least 1", ranks);
  if (rank < 0 || rank >= ranks) fail(ncclInvalidArgument, "rank {}: must be from 0 to {}", rank, ranks - 1);
  return std::make_unique<SocketBootstrap>(decodeId(id), rank, ranks, aborted);
}

}  // namespace rondo
