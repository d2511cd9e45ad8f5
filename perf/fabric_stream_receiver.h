// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// fabric_stream's receiver: gives credit, counts what arrives, checks it. Owned and used by the process's main thread.
#pragma once

#include <vector>

#include "fabric_stream_side.h"

namespace perf {

struct StreamResult {
  StreamCase what;
  std::vector<double> times_us;
  uint64_t wrong = 0;

  double averageUs() const;
  // Bytes per microsecond are 1e6 bytes/s.
  double gbps() const { return static_cast<double>(what.total_bytes) / averageUs() / 1e3; }
};

class StreamReceiver {
 public:
  StreamReceiver(const StreamOptions& options, StreamLink& link);

  std::string provider() const { return side_.endpoint.provider(); }
  // Before and after the cases.
  void begin();
  void finish();
  // The cases in their order.
  StreamResult runCase(const StreamCase& what);

 private:
  void runRound(const StreamCase& what);
  void grant(const StreamCase& what);
  void announce(const StreamCase& what);
  void poll(const StreamCase& what);
  void clear(const StreamCase& what);
  uint64_t countWrong(const StreamCase& what) const;

  StreamSide side_;
  StreamContexts contexts_;
  uint64_t round_ = 0;
  uint64_t finished_ = 0;
  bool finish_told_ = true;
  // Messages of the round: that may be sent, that the sender was told so of, that have arrived.
  uint64_t granted_ = 0;
  uint64_t announced_ = 0;
  uint64_t arrived_ = 0;
};

}  // namespace perf
