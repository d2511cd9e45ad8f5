// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/control.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/interfaces.h"
#include "src/base/socket.h"
#include "transport/bootstrap/control_tree.h"
#include "transport/bootstrap/event_loop.h"

namespace rondo {

namespace {

using std::chrono::seconds;

// All have connected before the last exchange of init, so that what is still on its way comes soon.
constexpr seconds kConnectTime{30};
// How long a rank that goes tries to hand over its last messages to a peer that does not read.
constexpr seconds kDrainTime{2};

struct Contact {
  wire::Hello hello;
  char address[128];  // empty for a rank without children
};

class Members {
 public:
  Members(Bootstrap& bootstrap, const std::string& ownAddress, uint64_t ownSecret)
      : contacts_(static_cast<size_t>(bootstrap.size())) {
    Contact& own = contacts_[static_cast<size_t>(bootstrap.rank())];
    own = {};
    own.hello = wire::makeHello(wire::kControlMagic, ownSecret, bootstrap.rank(), bootstrap.size());
    if (ownAddress.size() >= sizeof(own.address)) fail(ncclInternalError, "address too long: {}", ownAddress);
    std::copy(ownAddress.begin(), ownAddress.end(), own.address);
    bootstrap.allGather(contacts_.data(), sizeof(Contact));
  }

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
  std::vector<Contact> contacts_;
};

Fd connectToParent(const Members& members, const wire::Hello& own, const Patience& patience) {
  const int parent = parentOf(own.rank);
  const std::string address = members.address(parent);
  IoResult result;
  Fd fd = connectTo(SocketAddress::resolve(address, AF_UNSPEC).front(), patience, &result);
  if (!fd.valid())
    fail(ncclSystemError, "rank {} cannot reach rank {} at {}: connect: {}", own.rank, parent, address, result.text());
  result = sendAll(fd.get(), &own, sizeof(own), patience);
  if (!result.done())
    fail(ncclRemoteError, "rank {} lost rank {} at {}: send: {}", own.rank, parent, address, result.text());
  return fd;
}

}  // namespace

ControlPlane::ControlPlane(Bootstrap& bootstrap, ControlCallbacks callbacks, const AbortPredicate& aborted)
    : pid_(getpid()) {
  const int rank = bootstrap.rank();
  const bool hasChildren = !childrenOf(rank, bootstrap.size()).empty();
  Fd listener = hasChildren ? listenOnInterface() : Fd();
  const Members members(bootstrap, hasChildren ? SocketAddress::ofSocket(listener.get()).text() : "", randomBits());
  const auto hellos = members.hellos();

  EventLoop& loop = EventLoop::get();
  const auto tree = std::make_shared<ControlTree>(loop, hellos, rank, std::move(listener), std::move(callbacks));
  loop.add(tree);
  try {
    const Patience patience{aborted, Clock::now() + kConnectTime};
    if (rank > 0) {
      auto fd = std::make_shared<Fd>(connectToParent(members, hellos[static_cast<size_t>(rank)], patience));
      loop.post([tree, rank, fd] { tree->link(parentOf(rank), std::move(*fd)); });
    }
    // After this exchange every rank has connected to its parent; a rank that failed on the way ends it with its error.
    std::vector<char> arrived(static_cast<size_t>(bootstrap.size()));
    bootstrap.allGather(arrived.data(), 1);
    const auto missing = tree->waitLinked({aborted, Clock::now() + kConnectTime});
    if (!missing.empty())
      throw Error(ncclRemoteError, fmt::format("rank {}: no control connection from {}", rank, wire::rankText(missing)),
                  missing.front());
  } catch (...) {
    loop.remove(tree.get());
    throw;
  }
  tree_ = tree;
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
