// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_side.h"

#include <sched.h>

#include "error.h"
#include "sizes.h"

namespace perf {
namespace {

// So long a wait is nothing unusual between two messages.
constexpr uint64_t kSpinPolls = 200;
constexpr uint64_t kPollsBetweenLooks = 1000;

FabricNeeds needsOf(const StreamOptions& options, const StreamLink& link) {
  FabricNeeds needs;
  needs.provider = options.provider;
  needs.remote_write = options.uses(StreamOperation::Write);
  needs.inject_bytes = sizeof(StreamControl);
  needs.host = link.localHost();
  for (const StreamCase& each : options.listCases()) {
    needs.max_message_bytes = std::max(needs.max_message_bytes, each.bytesOf(0));
  }
  needs.completions = 2 * options.maxInFlight() + 64;
  return needs;
}

// Both processes of one host find the same memory.
size_t checkedBytes(size_t bytes, const StreamOptions& options) {
  const double needed = static_cast<double>(bytes) * (options.role == StreamRole::Both ? 2 : 1);
  const auto available = static_cast<double>(availableHostBytes());
  if (needed > available) {
    failUsage("--total {}: needs {} of memory on this host, but only {} are free", options.maxTotal(),
              formatBytes(needed), formatBytes(available));
  }
  return bytes;
}

}  // namespace

void StreamPatience::idle() {
  if (++idle_polls_ > kSpinPolls) sched_yield();
  if (idle_polls_ % kPollsBetweenLooks != 0) return;
  link_.checkPartner();
  const auto now = std::chrono::steady_clock::now();
  if (idle_polls_ == kPollsBetweenLooks) idle_since_ = now;
  if (now - idle_since_ > timeout_) {
    fail("nothing has come from {} for {} s (--timeout)", link_.partner(), timeout_.count());
  }
}

StreamContexts::StreamContexts(size_t count) : all_(count) {
  for (fi_context2& context : all_) free_.push_back(&context);
}

StreamSide::StreamSide(const StreamOptions& opts, StreamLink& to_partner, size_t buffer_bytes)
    : options(opts),
      link(to_partner),
      patience(to_partner, opts.timeout_s),
      endpoint(needsOf(opts, to_partner)),
      buffer(checkedBytes(buffer_bytes, opts)),
      region(endpoint.registerMemory(buffer.data(), buffer_bytes)) {}

std::string StreamSide::receiveText() {
  patience.progressed();
  return link.receive([this] {
    // The provider still has to deliver what was sent last.
    endpoint.poll();
    patience.idle();
  });
}

void StreamSide::meet() {
  const std::string mine = endpoint.provider() + ": " + options.describe();
  link.send(mine);
  const std::string theirs = receiveText();
  if (mine != theirs) {
    failUsage("{} was started with other flags or has another provider: {}, here {}", link.partner(), theirs, mine);
  }
  link.send(endpoint.name());
  endpoint.connect(receiveText());
}

}  // namespace perf
