// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What the 128 bytes of a unique id mean to the socket bootstrap. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/rondo.h"

namespace rondo {

struct IdContent {
  bool fixedAddress = false;  // from NCCL_COMM_ID: rank 0 listens there
  uint64_t secret = 0;
  std::string address;  // as SocketAddress::resolve reads it
  std::string maker;    // "host:pid" of the process that serves the address, for texts; cut where there is no room
};

ncclUniqueId encodeId(const IdContent& content);

// Throws InvalidArgument when the bytes are no unique id of this version.
IdContent decodeId(const ncclUniqueId& id);

// The secret of an address that the user gave: the same on all ranks.
uint64_t secretOf(const std::string& address);

}  // namespace rondo
