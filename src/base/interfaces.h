// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Which network interface the library listens on. NCCL_SOCKET_IFNAME is a list of name prefixes; a leading = makes them
// whole names, a leading ^ excludes them (^= excludes whole names). NCCL_SOCKET_FAMILY restricts the address family.
// With neither set: interfaces named ib* first, then any other, then those that usually lead nowhere (docker*, virbr*,
// veth*), then the loopback interface, so that one host with nothing but lo works. Any thread.
#pragma once

#include <string>
#include <vector>

#include "src/base/socket.h"

namespace rondo {

struct Interface {
  std::string name;
  SocketAddress address;  // port 0
  bool running = false;   // has a carrier
};

// Every interface that is up, once per IPv4 or IPv6 address.
std::vector<Interface> listInterfaces();

// The interfaces that may be used, best first; pure. Throws Error(ncclInvalidArgument) for a family that is not one.
struct InterfaceRules {
  std::string names;   // NCCL_SOCKET_IFNAME; empty: not set
  std::string family;  // NCCL_SOCKET_FAMILY; empty: not set
};
std::vector<Interface> rankInterfaces(const std::vector<Interface>& all, const InterfaceRules& rules);

// AF_INET, AF_INET6 or, when NCCL_SOCKET_FAMILY is not set, AF_UNSPEC.
int socketFamily();

// The numeric address of the best interface, without a port; empty when there is none.
std::string preferredAddress();

// A listener on the best interface whose address can be bound; logs the choice once per process. Throws when there is
// none: InvalidArgument if NCCL_SOCKET_IFNAME or NCCL_SOCKET_FAMILY left nothing over, otherwise SystemError; the text
// lists the interfaces seen.
Fd listenOnInterface();

}  // namespace rondo
