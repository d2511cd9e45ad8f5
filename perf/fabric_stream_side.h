// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What fabric_stream's sender and receiver have in common: the endpoint, the buffer, the link, and the rule for
// waiting. Owned and used by the process's main thread.
#pragma once

#include <rdma/fi_tagged.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "fabric_stream_endpoint.h"
#include "fabric_stream_link.h"
#include "fabric_stream_options.h"
#include "host_memory.h"

namespace perf {

// From receiver to sender. A round is one transfer of the buffer; numbers only grow.
struct StreamControl {
  uint64_t round = 0;
  uint64_t granted = 0;   // messages of this round that may be sent
  uint64_t finished = 0;  // rounds of which everything has arrived
};
// Above every message number.
constexpr uint64_t kControlTag = uint64_t{1} << 31;

// A wait in which nothing moves: gives up the CPU, looks whether the partner lives, and ends after the time limit.
class StreamPatience {
 public:
  StreamPatience(StreamLink& link, int timeout_s) : link_(link), timeout_(timeout_s) {}

  void progressed() { idle_polls_ = 0; }
  // After a poll that found nothing. Throws Failure.
  void idle();

 private:
  StreamLink& link_;
  std::chrono::seconds timeout_;
  uint64_t idle_polls_ = 0;
  std::chrono::steady_clock::time_point idle_since_;
};

// The contexts of operations under way, which providers may write to.
class StreamContexts {
 public:
  explicit StreamContexts(size_t count);
  bool empty() const { return free_.empty(); }
  fi_context2* peek() const { return free_.back(); }
  void take() { free_.pop_back(); }
  void give(void* context) { free_.push_back(static_cast<fi_context2*>(context)); }

 private:
  std::vector<fi_context2> all_;
  std::vector<fi_context2*> free_;
};

struct StreamSide {
  StreamSide(const StreamOptions& options, StreamLink& link, size_t buffer_bytes);

  // Both sides at the same time: compares what must agree, connects the endpoints.
  void meet();
  std::string receiveText();

  const StreamOptions& options;
  StreamLink& link;
  StreamPatience patience;
  FabricEndpoint endpoint;
  HostBuffer buffer;
  FabricRegion region;
};

}  // namespace perf
