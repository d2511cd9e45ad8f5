// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/exchange.h"

namespace rondo {

ncclResult_t remoteCode(ncclResult_t code) {
  return code == ncclInvalidArgument || code == ncclInvalidUsage ? code : ncclRemoteError;
}

void failExchange(const std::vector<ExchangeStatus>& all, int rank) {
  const ExchangeStatus& own = all[static_cast<size_t>(rank)];
  if (own.code != ncclSuccess) throw Error(static_cast<ncclResult_t>(own.code), own.text);
  for (size_t peer = 0; peer < all.size(); ++peer) {
    if (all[peer].code == ncclSuccess) continue;
    throw Error(remoteCode(static_cast<ncclResult_t>(all[peer].code)), fmt::format("rank {}: {}", peer, all[peer].text),
                static_cast<int>(peer));
  }
  fail(ncclInternalError, "no rank failed in a failed exchange");
}

}  // namespace rondo
