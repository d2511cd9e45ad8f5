// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How a communicator watches its kernels, on the service thread: what they report is told to all ranks, a wait that lasts
// too long becomes an error that names the rank which is behind.
#include <cstring>

#include "src/base/env.h"
#include "src/base/hash.h"
#include "src/comm/communicator.h"

namespace rondo {
namespace {

// Changes when any of the waits ends; 0 for none.
uint64_t fingerprint(const std::vector<PublishedWait>& waits) {
  if (waits.empty()) return 0;
  uint64_t hash = kHashStart;
  for (const PublishedWait& wait : waits)
    for (const uint64_t field : {uint64_t{wait.channel}, uint64_t{wait.sends}, wait.step, wait.since_ns})
      hash = hashNumber(field, hash);
  return hash | 1;
}

std::string describe(const Blame& blame) {
  switch (blame.reason) {
    case Blame::Reason::kSilent:
      return "does not answer: its process is stopped, or its host stands still";
    case Blame::Reason::kNotCalled:
      return blame.called == 0 ? "has not called anything" : fmt::format("has not called it; its last call is #{}", blame.called);
    case Blame::Reason::kNotMoving:
      return "has called it and does not wait: its kernel has not begun (other work on its stream?), or its network stands still";
    case Blame::Reason::kCircle:
      return "waits itself, for ranks that wait for one another in a circle";
  }
  return {};
}

}  // namespace

std::chrono::seconds readCallTimeout() {
  return std::chrono::seconds(env::integer("RONDO_CALL_TIMEOUT", 0, 86400).value_or(0));
}

RankStatus Communicator::status(const std::vector<PublishedWait>& waits, bool isAsking) const {
  RankStatus own{report_->lastCall(), 0, -1, isAsking ? 1u : 0u};
  for (const PublishedWait& wait : waits) {
    if (own.waitsIn != 0 && own.waitsIn <= wait.sequence) continue;
    own.waitsIn = wait.sequence;
    own.waitsFor = wait.peer;
  }
  return own;
}

void Communicator::tellStatus(const RankStatus& status) {
  const char* bytes = reinterpret_cast<const char*>(&status);
  control_->note({bytes, bytes + sizeof(status)});
}

void Communicator::hearNote(int rank, const std::vector<char>& content) {
  if (!controlReady_ || content.size() != sizeof(RankStatus)) return;
  RankStatus told;
  std::memcpy(&told, content.data(), sizeof(told));
  const auto now = HangWatch::Clock::now();
  hangWatch_->hear(rank, told, now);
  if (told.isAsking != 0 && hangWatch_->shallTell(now)) tellStatus(status(report_->waits(), false));
}

void Communicator::watchWaits() {
  if (!controlReady_ || !hangWatch_->hasLimit() || ranks_ == 1 || asyncError() != ncclSuccess) return;
  const auto waits = report_->waits();
  const auto now = HangWatch::Clock::now();
  switch (hangWatch_->tick(fingerprint(waits), now)) {
    case HangWatch::Step::kNothing:
      return;
    case HangWatch::Step::kAsk:
      return tellStatus(status(waits, true));
    case HangWatch::Step::kJudge:
      return raiseHang(status(waits, false), now);
  }
}

void Communicator::raiseHang(const RankStatus& own, HangWatch::Clock::time_point now) {
  const Blame blame = hangWatch_->judge(own, now);
  const auto call = report_->findCall(own.waitsIn);
  control_->raise(ncclRemoteError, blame.rank,
                  fmt::format("waiting for rank {} in {} #{} on comm {:x} since {} s: {} {} (RONDO_CALL_TIMEOUT; seen by {})",
                              blame.rank, call ? nameOf(call->kind) : "call", own.waitsIn, id_,
                              hangWatch_->waited().count(), control_->describe(blame.rank), describe(blame),
                              control_->describe(rank_)));
}

}  // namespace rondo
