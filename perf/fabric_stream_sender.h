// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// fabric_stream's sender: sends the messages of each round as credit allows, and takes the time. Owned and used by the
// process's main thread.
#pragma once

#include <vector>

#include "fabric_stream_side.h"

namespace perf {

class StreamSender {
 public:
  StreamSender(const StreamOptions& options, StreamLink& link);
  // All cases; the times go over the link.
  void run();

 private:
  struct ControlSlot {
    fi_context2 context;  // first: the completion's context is the slot
    StreamControl message;
  };

  std::vector<double> runCase(const StreamCase& what);
  // Microseconds from the first message until everything is known to have arrived.
  double runRound(const StreamCase& what);
  bool sendNext(const StreamCase& what);
  void poll();
  void postControls();

  StreamSide side_;
  StreamContexts contexts_;
  std::vector<ControlSlot> slots_;
  FabricRegion slots_region_;
  std::vector<ControlSlot*> idle_slots_;  // not posted as receives
  StreamControl newest_;
  uint64_t remote_base_ = 0;
  uint64_t remote_key_ = 0;
  uint64_t round_ = 0;
  uint64_t next_ = 0;  // message of the round
  uint64_t in_flight_ = 0;
};

}  // namespace perf
