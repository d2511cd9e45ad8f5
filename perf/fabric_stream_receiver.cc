// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_receiver.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "error.h"
#include "fabric_stream_contents.h"

namespace perf {
namespace {

// What the buffer holds before, and behind it a guard that no message may touch.
constexpr unsigned char kStaleByte = 0xa6;
constexpr uint64_t kGuardBytes = 4096;

}  // namespace

double StreamResult::averageUs() const {
  return std::accumulate(times_us.begin(), times_us.end(), 0.0) / static_cast<double>(times_us.size());
}

StreamReceiver::StreamReceiver(const StreamOptions& options, StreamLink& link)
    : side_(options, link, options.maxTotal() + kGuardBytes), contexts_(options.maxInFlight()) {}

void StreamReceiver::begin() {
  side_.meet();
  const uint64_t target[] = {side_.region.remote_base, side_.region.key};
  side_.link.send({reinterpret_cast<const char*>(target), sizeof(target)});
}

void StreamReceiver::finish() {
  side_.link.send("goodbye");
}

StreamResult StreamReceiver::runCase(const StreamCase& what) {
  StreamResult result{what, {}, 0};
  clear(what);
  runRound(what);
  result.wrong = countWrong(what);
  for (int i = 0; i < side_.options.warmup + side_.options.iterations; ++i) runRound(what);
  const std::string times = side_.receiveText();
  result.times_us.resize(times.size() / sizeof(double));
  std::memcpy(result.times_us.data(), times.data(), result.times_us.size() * sizeof(double));
  if (static_cast<int>(result.times_us.size()) != side_.options.iterations) {
    fail("{} sent {} times instead of {}", side_.link.partner(), result.times_us.size(), side_.options.iterations);
  }
  return result;
}

void StreamReceiver::clear(const StreamCase& what) {
  std::memset(side_.buffer.data(), kStaleByte, what.total_bytes + kGuardBytes);
}

uint64_t StreamReceiver::countWrong(const StreamCase& what) const {
  const auto is_changed = [](char byte) { return static_cast<unsigned char>(byte) != kStaleByte; };
  const char* guard = side_.buffer.data() + what.total_bytes;
  return countWrongWords(side_.buffer.data(), what.total_bytes) +
         static_cast<uint64_t>(std::count_if(guard, guard + kGuardBytes, is_changed));
}

void StreamReceiver::runRound(const StreamCase& what) {
  ++round_;
  granted_ = announced_ = arrived_ = 0;
  while (arrived_ < what.messages()) {
    grant(what);
    announce(what);
    poll(what);
  }
  finished_ = round_;
  finish_told_ = false;
  for (announce(what); !finish_told_; announce(what)) poll(what);
}

void StreamReceiver::grant(const StreamCase& what) {
  const uint64_t limit = std::min(what.messages(), arrived_ + what.in_flight);
  if (what.operation == StreamOperation::Write) {
    granted_ = limit;  // the memory is there
    return;
  }
  while (granted_ < limit) {
    if (!side_.endpoint.receiveTagged(side_.buffer.data() + what.offsetOf(granted_), what.bytesOf(granted_),
                                      side_.region.description, granted_, contexts_.peek())) {
      return;
    }
    contexts_.take();
    ++granted_;
  }
}

void StreamReceiver::announce(const StreamCase& what) {
  // In quarters of the window: fewer control messages. At once when no more can be granted until something arrives.
  const bool stuck = granted_ == what.messages() || granted_ - arrived_ < what.in_flight || arrived_ == announced_;
  const bool enough = granted_ - announced_ >= std::max<uint64_t>(what.in_flight / 4, 1);
  if (finish_told_ && (granted_ == announced_ || !(enough || stuck))) return;
  const StreamControl message{round_, granted_, finished_};
  if (!side_.endpoint.inject(&message, sizeof(message), kControlTag)) return;
  announced_ = granted_;
  finish_told_ = true;
}

void StreamReceiver::poll(const StreamCase& what) {
  const auto completions = side_.endpoint.poll();
  if (completions.empty()) {
    side_.patience.idle();
    return;
  }
  side_.patience.progressed();
  for (const fi_cq_tagged_entry& entry : completions) {
    const bool tagged = what.operation == StreamOperation::Tagged;
    const uint64_t message = tagged ? entry.tag : entry.data;
    const uint64_t wanted = tagged ? FI_RECV : FI_REMOTE_CQ_DATA;
    if (!(entry.flags & wanted)) continue;
    if (message >= granted_) fail("message {} came without credit", message);
    if (tagged && entry.len != what.bytesOf(message)) {
      fail("message {} has {} bytes instead of {}", message, entry.len, what.bytesOf(message));
    }
    if (tagged) contexts_.give(entry.op_context);
    ++arrived_;
  }
}

}  // namespace perf
