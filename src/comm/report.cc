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

void addWait(std::vector<PublishedWait>& waits, const WaitReport& report, uint32_t channel, bool sends) {
  const uint64_t since_ns = hostLoadAcquire(report.since_ns);  // pairs with RingChannel::reportWait
  if (since_ns == 0) return;
  waits.push_back({channel, sends, hostLoadRelaxed(report.step), static_cast<int>(hostLoadRelaxed(report.peer)),
                   hostLoadRelaxed(report.sequence), since_ns});
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
  lastCall_.store(sequence, std::memory_order_relaxed);
}

std::optional<Call> Report::findCall(uint64_t sequence) const {
  const IssueEntry& entry = page_->issued[sequence % kIssueLogEntries];
  if (hostLoadAcquire(entry.sequence) != sequence) return std::nullopt;  // pairs with logCall
  const Call call{static_cast<CollectiveKind>(hostLoadRelaxed(entry.kind)),
                  nullptr,
                  nullptr,
                  hostLoadRelaxed(entry.count),
                  static_cast<DataType>(hostLoadRelaxed(entry.type)),
                  static_cast<RedOp>(hostLoadRelaxed(entry.op)),
                  static_cast<uint32_t>(hostLoadRelaxed(entry.root))};
  __atomic_thread_fence(__ATOMIC_ACQUIRE);  // whoever overwrites the entry has stored 0 first
  if (hostLoadRelaxed(entry.sequence) != sequence) return std::nullopt;
  return call;
}

std::optional<std::string> Report::mismatch(int rank) const {
  const MismatchReport& found = page_->mismatch;
  if (hostLoadAcquire(found.found) == 0) return std::nullopt;  // pairs with RingChannel::checkHeader
  const uint64_t sequence = hostLoadRelaxed(found.sequence);
  const auto call = findCall(sequence);
  const std::string mine = call ? describe(*call, sequence) : fmt::format("call {}", sequence);
  return fmt::format("ranks called different collectives: rank {} called {}, rank {} something else", rank, mine,
                     hostLoadRelaxed(found.peer));
}

std::vector<PublishedWait> Report::waits() const {
  std::vector<PublishedWait> found;
  for (uint32_t channel = 0; channel < kMaxChannels; ++channel) {
    addWait(found, page_->receive[channel], channel, false);
    addWait(found, page_->send[channel], channel, true);
  }
  return found;
}

std::string Report::describeWaits() const {
  std::string text;
  for (const PublishedWait& wait : waits()) {
    text += fmt::format("; channel {} waits for step {} {} rank {} in call {}", wait.channel, wait.step,
                        wait.sends ? "to be taken by" : "from", wait.peer, wait.sequence);
  }
  return text;
}

}  // namespace rondo
