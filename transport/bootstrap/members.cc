// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/members.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/interfaces.h"

namespace rondo {

namespace {

// What a rank tells all others about itself: how to reach it, or why it cannot take part.
struct Contact {
  wire::Hello hello;
  char address[128];
  int32_t code;  // ncclSuccess
  char fault[380];
};

Contact makeContact(int rank, int ranks, Fd* listener) {
  Contact own{};
  own.hello = wire::makeHello(wire::kControlMagic, 0, rank, ranks);
  try {
    own.hello.secret = randomBits();
    if (ranks == 1) return own;
    *listener = listenOnInterface();
    const std::string text = SocketAddress::ofSocket(listener->get()).text();
    if (text.size() >= sizeof(own.address)) fail(ncclInternalError, "address too long: {}", text);
    text.copy(own.address, text.size());
  } catch (const Error& error) {
    own.code = error.code();
    error.text().copy(own.fault, sizeof(own.fault) - 1);
  }
  return own;
}

// The program's own exchange may be wrong, or called with ranks that do not fit together.
void checkHello(const wire::Hello& hello, int place, int ranks, int rank) {
  if (std::memcmp(hello.magic, wire::kControlMagic, sizeof(hello.magic)) != 0)
    throw Error(ncclInvalidUsage,
                fmt::format("rank {}: the bootstrap's exchange did not bring what rank {} gave", rank, place), place);
  if (hello.version != wire::kVersion)
    fail(ncclInvalidUsage,
         "{} speaks version {} of the control protocol, rank {} version {}: all ranks must use the same version of the "
         "library",
         wire::describe(hello), hello.version, rank, wire::kVersion);
  if (hello.rank != place || hello.ranks != ranks)
    fail(ncclInvalidUsage, "{} of {} stands at place {} of {} in the bootstrap's exchange: ranks do not fit together",
         wire::describe(hello), hello.ranks, place, ranks);
}

void checkFault(const Contact& contact, int rank) {
  if (contact.code == ncclSuccess) return;
  const auto code = static_cast<ncclResult_t>(contact.code);
  if (contact.hello.rank == rank) throw Error(code, contact.fault);
  throw Error(code == ncclInvalidArgument ? code : ncclRemoteError,
              fmt::format("{}: {}", wire::describe(contact.hello), contact.fault), contact.hello.rank);
}

}  // namespace

Members::Members(Bootstrap& bootstrap) : rank_(bootstrap.rank()) {
  const int ranks = bootstrap.size();
  std::vector<Contact> contacts(static_cast<size_t>(ranks));
  contacts[static_cast<size_t>(rank_)] = makeContact(rank_, ranks, &listener_);
  bootstrap.allGather(contacts.data(), sizeof(Contact));
  for (int place = 0; place < ranks; ++place)
    checkHello(contacts[static_cast<size_t>(place)].hello, place, ranks, rank_);
  checkFault(contacts[static_cast<size_t>(rank_)], rank_);
  for (const Contact& contact : contacts) {
    checkFault(contact, rank_);
    hellos_.push_back(contact.hello);
    hellos_.back().secret = contacts[0].hello.secret;  // rank 0's is the communicator's
    addresses_.emplace_back(contact.address, strnlen(contact.address, sizeof(contact.address)));
  }
}

Fd Members::connect(int peer, const Patience& patience) const {
  const wire::Hello& own = hellos_[static_cast<size_t>(rank_)];
  const std::string& address = addresses_[static_cast<size_t>(peer)];
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
              fmt::format("{} cannot reach {} at {}: {}: {}{}", wire::describe(own),
                          wire::describe(hellos_[static_cast<size_t>(peer)]), address, call, result.text(),
                          gone ? "; its process has ended, or its init has failed" : ""),
              peer);
}

}  // namespace rondo
