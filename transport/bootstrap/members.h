// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Who the ranks of a control plane are and where they listen: the one thing that a Bootstrap exchanges. Belongs to the
// thread that makes the ControlPlane.
#pragma once

#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/socket.h"
#include "transport/bootstrap/bootstrap.h"
#include "transport/bootstrap/wire.h"

namespace rondo {

class Members {
 public:
  // Opens this rank's listener, and takes part in the exchange even if that fails, so that nobody waits for this rank.
  // Throws, on every rank, when one cannot listen; ncclInvalidUsage when what was exchanged does not fit together.
  explicit Members(Bootstrap& bootstrap);

  int rank() const { return rank_; }
  Fd takeListener() { return std::move(listener_); }

  // Every rank's, with the secret of the communicator.
  const std::vector<wire::Hello>& hellos() const { return hellos_; }

  // A connection to a listener, which is open since before the exchange, with this rank's Hello sent. Throws
  // ncclRemoteError when the peer's process or init has ended, ncclSystemError when its host is out of reach.
  Fd connect(int peer, const Patience& patience) const;

 private:
  const int rank_;
  Fd listener_;
  std::vector<wire::Hello> hellos_;
  std::vector<std::string> addresses_;  // empty where there is only one rank
};

}  // namespace rondo
