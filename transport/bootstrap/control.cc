// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/interfaces.h"
#include "src/base/log.h"
#include "src/base/socket.h"
#include "transport/bootstrap/control_tree.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/init_timeout.h"

namespace rondo {

namespace {

using std::chrono::seconds;

// How long a neighbour's host may take to answer; the neighbour itself need not look at the connection.
constexpr seconds kConnectTime{30};
// How long a rank that fails while the ranks meet stays to tell its neighbours, who are about to connect, why.
constexpr seconds kTellTime{3};
// How long a rank that goes tries to hand over its last messages to a peer that does not read.
constexpr seconds kDrainTime{2};

// What a rank tells all others about itself: how to reach it, or why it cannot take part.
struct Contact {
  wire::Hello hello;
  char address[128];  // empty where there is only one rank
  int32_t code;       // ncclSuccess
  char fault[380];
};

// Opens this rank's listener, and exchanges contacts even if that fails, so that nobody waits for this rank.
class Members {
 public:
  explicit Members(Bootstrap& bootstrap) : contacts_(static_cast<size_t>(bootstrap.size())), rank_(bootstrap.rank()) {
    Contact& own = contacts_[static_cast<size_t>(rank_)];
    own = {};
    own.hello = wire::makeHello(wire::kControlMagic, 0, rank_, bootstrap.size());
    try {
      own.hello.secret = randomBits();
      if (bootstrap.size() > 1) listener_ = listenOnInterface();
      const std::string text = listener_.valid() ? SocketAddress::ofSocket(listener_.get()).text() : "";
      if (text.size() >= sizeof(own.address)) fail(ncclInternalError, "address too long: {}", text);
      std::copy(text.begin(), text.end(), own.address);
    } catch (const Error& error) {
      own.code = error.code();
      error.text().copy(own.fault, sizeof(own.fault) - 1);
    }
    bootstrap.allGather(contacts_.data(), sizeof(Contact));
    checkHellos();
    checkFaults();
  }

  Fd takeListener() { return std::move(listener_); }

  std::string address(int rank) const {
    const Contact& contact = contacts_[static_cast<size_t>(rank)];
    return std::string(contact.address, strnlen(contact.address, sizeof(contact.address)));
  }

  // The secret of the communicator is rank 0's.
  std::vector<wire::Hello> hellos() const {
    std::vector<wire::Hello> result;
    for (const Contact& contact : contacts_) {
      result.push_back(contact.hello);
      result.back().secret = contacts_[0].hello.secret;
    }
    return result;
  }

 private:
  // The program's own exchange may be wrong, or called with ranks that do not fit together.
  void checkHellos() const {
    for (size_t i = 0; i < contacts_.size(); ++i) {
      const wire::Hello& hello = contacts_[i].hello;
      if (std::memcmp(hello.magic, wire::kControlMagic, sizeof(hello.magic)) != 0)
        throw Error(ncclInvalidUsage, fmt::format("rank {}: the bootstrap's exchange did not bring what rank {} gave", rank_, i),
                    static_cast<int>(i));
      if (hello.version != wire::kVersion)
        fail(ncclInvalidUsage, "{} speaks version {} of the control protocol, rank {} version {}: all ranks must use the "
             "same version of the library", wire::describe(hello), hello.version, rank_, wire::kVersion);
      if (hello.rank != static_cast<int>(i) || hello.ranks != static_cast<int>(contacts_.size()))
        fail(ncclInvalidUsage, "{} of {} stands at place {} of {} in the bootstrap's exchange: ranks do not fit together",
             wire::describe(hello), hello.ranks, i, contacts_.size());
    }
  }

  void checkFaults() const {
    const Contact& own = contacts_[static_cast<size_t>(rank_)];
    if (own.code != ncclSuccess) throw Error(static_cast<ncclResult_t>(own.code), own.fault);
    for (const Contact& contact : contacts_) {
      if (contact.code == ncclSuccess) continue;
      const auto code = static_cast<ncclResult_t>(contact.code);
      throw Error(code == ncclInvalidArgument ? code : ncclRemoteError,
                  fmt::format("{}: {}", wire::describe(contact.hello), contact.fault), contact.hello.rank);
    }
  }

  std::vector<Contact> contacts_;
  const int rank_;
  Fd listener_;
};

// Connects to the parent's or a child's listener, which is open since before the exchange of contacts.
Fd connectToNeighbour(const Members& members, const wire::Hello& own, const wire::Hello& peer, const Patience& patience) {
  const std::string address = members.address(peer.rank);
  const char* call = "connect";
  IoResult result;
  Fd fd = connectTo(SocketAddress::resolve(address, AF_UNSPEC).front(), patience, &result);
  if (fd.valid()) {
    call = "send";
    result = sendAll(fd.get(), &own, sizeof(own), patience);
  }
  if (fd.valid() && result.done()) return fd;
  const bool gone = fd.valid() || result.error == ECONNREFUSED || result.error == ECONNRESET;
  throw Error(gone ? ncclRemoteError : ncclSystemError,
              fmt::format("{} cannot reach {} at {}: {}: {}{}", wire::describe(own), wire::describe(peer), address, call,
                          result.text(), gone ? "; its process has ended, or its init has failed" : ""),
              peer.rank);
}

// See ControlTree: how the ranks meet.
void meetNeighbours(const std::shared_ptr<ControlTree>& tree, const Members& members,
                    const std::vector<wire::Hello>& hellos, int rank, const AbortPredicate& aborted) {
  const auto connect = [&](int peer) {
    return std::make_shared<Fd>(connectToNeighbour(members, hellos[static_cast<size_t>(rank)],
                                                   hellos[static_cast<size_t>(peer)],
                                                   {aborted, Clock::now() + kConnectTime}));
  };
  EventLoop& loop = tree->loop();
  if (rank > 0) loop.post([tree, peer = parentOf(rank), fd = connect(parentOf(rank))] { tree->link(peer, std::move(*fd)); });
  for (const int child : childrenOf(rank, static_cast<int>(hellos.size()))) {
    if (tree->isLinked(child)) continue;
    loop.post([tree, child, fd = connect(child)] { tree->watch(child, std::move(*fd)); });
  }
  const seconds timeout = initTimeout();
  const auto missing = tree->waitLinkedOrFailed({aborted, Clock::now() + timeout});
  if (!missing.empty() && !tree->hasFailed())
    throw Error(ncclRemoteError,
                fmt::format("{}: no control connection from {} within {} s (RONDO_INIT_TIMEOUT)",
                            tree->describe(rank), wire::rankText(missing), timeout.count()),
                missing.front());
}

// The others learn why, and who: this rank, unless the error is about another one.
void tellFailure(ControlTree& tree, int rank, const Error& error) {
  const bool other = error.peer() >= 0;
  tree.raise({ncclRemoteError, other ? error.peer() : rank,
              other ? error.text() : fmt::format("{} gave up its init: {}", tree.describe(rank), error.text())});
}

}  // namespace

ControlPlane::ControlPlane(Bootstrap& bootstrap, ControlCallbacks callbacks, const AbortPredicate& aborted)
    : pid_(getpid()), rank_(bootstrap.rank()), ranks_(bootstrap.size()) {
  Members members(bootstrap);
  log::info(log::kInit | log::kBootstrap, "Bootstrap: rank {} knows the addresses of {} ranks", rank_, ranks_);
  const auto hellos = members.hellos();
  EventLoop& loop = EventLoop::get();
  tree_ = std::make_shared<ControlTree>(loop, hellos, rank_, members.takeListener(), std::move(callbacks));
  loop.add(tree_);
  try {
    meetNeighbours(tree_, members, hellos, rank_, aborted);
    allGather(nullptr, 0, aborted);
  } catch (const Error& error) {
    abandon(error);
    throw;
  } catch (const std::exception& error) {
    abandon(Error(ncclSystemError, error.what()));
    throw;
  }
}

// The ranks were still meeting: neighbours that are on their way are waited for, so that they learn why.
void ControlPlane::abandon(const Error& error) {
  if (error.peer() >= 0) tree_->dropNeighbour(error.peer());
  tree_->loop().post([tree = tree_, rank = rank_, error] { tellFailure(*tree, rank, error); });
  tree_->waitLinked({{}, Clock::now() + kTellTime});
  tree_->loop().remove(tree_.get());
  tree_->drain(Clock::now() + kDrainTime);
}

void ControlPlane::allGather(void* all, size_t bytesPerRank, const AbortPredicate& aborted) {
  if (pid_ != getpid()) fail(ncclInvalidUsage, "a communicator of the parent process is used in a forked child");
  std::lock_guard turn(turn_);
  if (gaveUp_ && !tree_->hasFailed()) fail(ncclInvalidUsage, "rank {}: an exchange of this communicator was aborted", rank_);
  const uint64_t round = nextRound_++;
  const GatherHead head{round, bytesPerRank};
  std::vector<char> payload(sizeof(head) + bytesPerRank);
  std::memcpy(payload.data(), &head, sizeof(head));
  if (bytesPerRank > 0)
    std::memcpy(payload.data() + sizeof(head), static_cast<char*>(all) + static_cast<size_t>(rank_) * bytesPerRank,
                bytesPerRank);
  tree_->loop().post([tree = tree_, payload = std::move(payload)] { tree->contribute(payload); });
  gaveUp_ = true;
  tree_->waitGathered(round, all, bytesPerRank * static_cast<size_t>(ranks_), aborted);
  gaveUp_ = false;
}

ControlPlane::~ControlPlane() {
  if (pid_ != getpid()) {  // the loop and the connections are the parent's
    tree_->closeCopies();
    return;
  }
  tree_->loop().post([tree = tree_] { tree->sayAborted(); });
  tree_->loop().remove(tree_.get());
  tree_->drain(Clock::now() + kDrainTime);
}

void ControlPlane::raise(ncclResult_t code, int originRank, const std::string& text) {
  if (pid_ != getpid()) return;
  tree_->loop().post([tree = tree_, report = wire::ErrorReport{code, originRank, text}] { tree->raise(report); });
}

void ControlPlane::leave() {
  if (pid_ != getpid()) return;
  tree_->loop().post([tree = tree_] { tree->leave(); });
}

bool ControlPlane::waitAllLeft(const AbortPredicate& aborted, std::chrono::milliseconds timeout) {
  if (pid_ != getpid()) return true;
  return tree_->waitAllLeft({aborted, Clock::now() + timeout});
}

std::string ControlPlane::describe(int rank) const {
  return tree_->describe(rank);
}

}  // namespace rondo
