// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_sender.h"

#include <cstring>

#include "error.h"
#include "fabric_stream_contents.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

// The receiver tells of every quarter of the window, so that at most 8 are on their way, and of the end.
constexpr size_t kControlSlots = 16;

}  // namespace

StreamSender::StreamSender(const StreamOptions& options, StreamLink& link)
    : side_(options, link, options.maxTotal()),
      contexts_(options.maxInFlight()),
      slots_(kControlSlots),
      slots_region_(side_.endpoint.registerMemory(slots_.data(), slots_.size() * sizeof(ControlSlot))) {
  for (ControlSlot& slot : slots_) idle_slots_.push_back(&slot);
}

void StreamSender::run() {
  fillStream(side_.buffer.data(), side_.buffer.bytes());
  side_.meet();
  const std::string target = side_.receiveText();
  if (target.size() != 2 * sizeof(uint64_t)) fail("{} told no target", side_.link.partner());
  std::memcpy(&remote_base_, target.data(), sizeof(uint64_t));
  std::memcpy(&remote_key_, target.data() + sizeof(uint64_t), sizeof(uint64_t));
  for (const StreamCase& each : side_.options.listCases()) {
    const std::vector<double> times = runCase(each);
    side_.link.send({reinterpret_cast<const char*>(times.data()), times.size() * sizeof(double)});
  }
  side_.receiveText();  // goodbye: nothing is on its way any more
}

std::vector<double> StreamSender::runCase(const StreamCase& what) {
  std::vector<double> times;
  const int untimed = 1 + side_.options.warmup;  // the first one is checked
  for (int i = 0; i < untimed + side_.options.iterations; ++i) {
    const double time = runRound(what);
    if (i >= untimed) times.push_back(time);
  }
  return times;
}

double StreamSender::runRound(const StreamCase& what) {
  ++round_;
  next_ = 0;
  while (newest_.round < round_) poll();
  const Clock::time_point begin = Clock::now();
  while (newest_.finished < round_) {
    while (sendNext(what)) {
    }
    poll();
  }
  const Clock::time_point end = Clock::now();
  while (in_flight_ > 0) poll();
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

bool StreamSender::sendNext(const StreamCase& what) {
  const uint64_t granted = newest_.round == round_ ? newest_.granted : 0;
  if (next_ == granted || in_flight_ == what.in_flight) return false;
  const uint64_t offset = what.offsetOf(next_);
  const char* from = side_.buffer.data() + offset;
  void* context = contexts_.peek();
  bool sent = false;
  switch (what.operation) {
    case StreamOperation::Tagged:
      sent = side_.endpoint.sendTagged(from, what.bytesOf(next_), side_.region.description, next_, context);
      break;
    case StreamOperation::Write:
      sent = side_.endpoint.write(from, what.bytesOf(next_), side_.region.description, remote_base_ + offset,
                                  remote_key_, static_cast<uint32_t>(next_), context);
      break;
  }
  if (!sent) return false;
  contexts_.take();
  ++in_flight_;
  ++next_;
  return true;
}

void StreamSender::poll() {
  postControls();
  const auto completions = side_.endpoint.poll();
  if (completions.empty()) {
    side_.patience.idle();
    return;
  }
  side_.patience.progressed();
  for (const fi_cq_tagged_entry& entry : completions) {
    if (!(entry.flags & FI_RECV)) {
      contexts_.give(entry.op_context);
      --in_flight_;
      continue;
    }
    auto* slot = static_cast<ControlSlot*>(entry.op_context);
    const StreamControl& told = slot->message;
    // They may arrive in any order.
    if (told.round > newest_.round) newest_.round = told.round, newest_.granted = told.granted;
    if (told.round == newest_.round) newest_.granted = std::max(newest_.granted, told.granted);
    newest_.finished = std::max(newest_.finished, told.finished);
    idle_slots_.push_back(slot);
  }
}

void StreamSender::postControls() {
  while (!idle_slots_.empty()) {
    ControlSlot* slot = idle_slots_.back();
    if (!side_.endpoint.receiveTagged(&slot->message, sizeof(slot->message), slots_region_.description, kControlTag,
                                      slot)) {
      return;
    }
    idle_slots_.pop_back();
  }
}

}  // namespace perf
