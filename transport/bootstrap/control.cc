// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control.h"

#include <unistd.h>

#include <cstring>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/socket.h"
#include "transport/bootstrap/control_tree.h"
#include "transport/bootstrap/event_loop.h"
#include "transport/bootstrap/init_timeout.h"
#include "transport/bootstrap/members.h"

namespace rondo {

namespace {

using std::chrono::seconds;

// How long a neighbour's host may take to answer; the neighbour itself need not look at the connection.
constexpr seconds kConnectTime{30};
// How long a rank that fails while the ranks meet stays to tell its neighbours, who are about to connect, why.
constexpr seconds kTellTime{3};
// How long a rank that goes tries to hand over its last messages to a peer that does not read.
constexpr seconds kDrainTime{2};

// How often a neighbour that turns this rank away is tried again.
constexpr int kMostReturns = 20;
constexpr std::chrono::milliseconds kReturnPause{20};

void reach(const std::shared_ptr<ControlTree>& tree, const Members& members, int peer,
           const AbortPredicate& aborted) {
  if (tree->isLinked(peer)) return;
  const bool isParent = peer < members.rank();
  const auto fd = std::make_shared<Fd>(members.connect(peer, {aborted, Clock::now() + kConnectTime}));
  tree->loop().post(
      [tree, peer, isParent, fd] { isParent ? tree->link(peer, std::move(*fd)) : tree->watch(peer, std::move(*fd)); });
}

// See ControlTree: how the ranks meet.
void meetNeighbours(const std::shared_ptr<ControlTree>& tree, const Members& members, const AbortPredicate& aborted) {
  const int rank = members.rank();
  const seconds timeout = initTimeout();
  const Patience patience{aborted, Clock::now() + timeout};
  if (rank > 0) reach(tree, members, parentOf(rank), aborted);
  for (const int child : childrenOf(rank, static_cast<int>(members.hellos().size()))) reach(tree, members, child, aborted);
  std::vector<int> missing;
  for (int returns = 0;; ++returns) {
    missing = tree->waitLinkedOrFailed(patience);
    const auto again = tree->takeTurnedAway();
    if (again.empty() || tree->hasFailed()) break;
    if (returns == kMostReturns)
      throw Error(ncclRemoteError,
                  fmt::format("{}: {} has closed its control connection {} times", tree->describe(rank),
                              tree->describe(again.front()), returns + 1),
                  again.front());
    pause(kReturnPause, patience);
    for (const int peer : again) reach(tree, members, peer, aborted);
  }
  if (!missing.empty() && !tree->hasFailed())
    throw Error(ncclRemoteError,
                fmt::format("{}: no control connection from {} within {} s (RONDO_INIT_TIMEOUT)", tree->describe(rank),
                            wire::rankText(missing), timeout.count()),
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
  EventLoop& loop = EventLoop::get();
  tree_ = std::make_shared<ControlTree>(loop, members.hellos(), rank_, members.takeListener(), std::move(callbacks));
  loop.add(tree_);
  try {
    meetNeighbours(tree_, members, aborted);
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

void ControlPlane::allGather(void* all, size_t bytesPerRank, const AbortPredicate& aborted,
                             std::chrono::seconds timeout) {
  if (pid_ != getpid()) fail(ncclInvalidUsage, "a communicator of the parent process is used in a forked child");
  std::lock_guard turn(turn_);
  if (gaveUp_ && !tree_->hasFailed())
    fail(ncclInvalidUsage, "rank {}: an exchange of this communicator was aborted", rank_);
  const uint64_t round = nextRound_++;
  const GatherHead head{round, bytesPerRank};
  std::vector<char> payload(sizeof(head) + bytesPerRank);
  std::memcpy(payload.data(), &head, sizeof(head));
  if (bytesPerRank > 0)
    std::memcpy(payload.data() + sizeof(head), static_cast<char*>(all) + static_cast<size_t>(rank_) * bytesPerRank,
                bytesPerRank);
  tree_->loop().post([tree = tree_, payload = std::move(payload)] { tree->contribute(payload); });
  gaveUp_ = true;
  tree_->waitGathered(round, all, bytesPerRank * static_cast<size_t>(ranks_), aborted, timeout);
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

void ControlPlane::note(std::vector<char> content) {
  if (pid_ != getpid()) return;
  tree_->loop().post([tree = tree_, content = std::move(content)] { tree->note(content); });
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
