// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/report.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

namespace rondo {
namespace {

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

std::string describeWait(const WaitReport& wait, uint32_t channel, const char* what) {
  if (hostLoadAcquire(wait.since_ns) == 0) return {};  // pairs with RingChannel::reportWait
  return fmt::format("; channel {} waits for step {} {} rank {} in call {}", channel, hostLoadRelaxed(wait.step), what,
                     hostLoadRelaxed(wait.peer), hostLoadRelaxed(wait.sequence));
}

}  // namespace

Report::Report() : memory_(sizeof(ReportPage)), page_(reinterpret_cast<ReportPage*>(memory_.data())) {}

void Report::logCall(const Call& call, uint64_t sequence, runtime::Stream stream) {
  IssueEntry& entry = page_->issued[sequence % kIssueLogEntries];
  hostStoreRelaxed(entry.sequence, 0);
  hostStoreRelease(entry.kind, static_cast<uint64_t>(call.kind));
  hostStoreRelaxed(entry.type, static_cast<uint64_t>(call.type));
  hostStoreRelaxed(entry.op, static_cast<uint64_t>(call.op));
  hostStoreRelaxed(entry.root, call.root);
  hostStoreRelaxed(entry.count, call.count);
  hostStoreRelaxed(entry.stream, reinterpret_cast<uint64_t>(stream));
  hostStoreRelaxed(entry.thread, static_cast<uint64_t>(gettid()));
  hostStoreRelaxed(entry.enqueued_ns, now_ns());
  hostStoreRelease(entry.sequence, sequence);
}

std::optional<std::string> Report::mismatch(int rank) const {
  const MismatchReport& found = page_->mismatch;
  if (hostLoadAcquire(found.found) == 0) return std::nullopt;  // pairs with RingChannel::checkHeader
  const uint64_t sequence = hostLoadRelaxed(found.sequence);
  const IssueEntry& entry = page_->issued[sequence % kIssueLogEntries];
  std::string mine = fmt::format("call {}", sequence);
  if (hostLoadAcquire(entry.sequence) == sequence) {
    const Call call{static_cast<CollectiveKind>(hostLoadRelaxed(entry.kind)),
                    nullptr,
                    nullptr,
                    hostLoadRelaxed(entry.count),
                    static_cast<DataType>(hostLoadRelaxed(entry.type)),
                    static_cast<RedOp>(hostLoadRelaxed(entry.op)),
                    static_cast<uint32_t>(hostLoadRelaxed(entry.root))};
    mine = describe(call, sequence);
  }
  return fmt::format("ranks called different collectives: rank {} called {}, rank {} something else", rank, mine,
                     hostLoadRelaxed(found.peer));
}

std::string Report::describeWaits() const {
  std::string text;
  for (uint32_t channel = 0; channel < kMaxChannels; ++channel) {
    text += describeWait(page_->receive[channel], channel, "from");
    text += describeWait(page_->send[channel], channel, "to be taken by");
  }
  return text;
}

}  // namespace rondo
