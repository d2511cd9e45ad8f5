// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/communicator.h"

#include <algorithm>

#include "device/kernels/kernel.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/group.h"

namespace rondo {
namespace {

uint32_t blocksOf(const KernelArgs& args) {
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < args.workCount; ++i) blocks = std::max(blocks, args.works[i].channels);
  return blocks;
}

}  // namespace

Communicator::~Communicator() = default;

void Communicator::throwIfFailed() const {
  std::lock_guard lock(errorMutex_);
  if (error_ != ncclSuccess) throw Error(error_, errorText_);
}

ncclResult_t Communicator::asyncError() const {
  std::lock_guard lock(errorMutex_);
  return error_;
}

// The first error wins; every wait of the kernels ends. During init no kernel runs, and enter() throws the error.
void Communicator::fail(ncclResult_t code, const std::string& what) {
  std::string text = what;
  {
    std::lock_guard lock(errorMutex_);
    if (error_ != ncclSuccess) return;
    error_ = code;
    // Once init is over the wiring stands.
    if (entered_ && wiring_) text += wiring_->describe();
    errorText_ = text;
    if (!entered_) return;
  }
  setLastError(text);
  RONDO_WARN("rank {}: {}{}", rank_, text, report_ ? report_->describeWaits() : "");
  if (report_) report_->raiseAbort();
}

// On the service thread, now and then: a kernel's finding becomes everybody's error.
void Communicator::checkReport() {
  if (!controlReady_ || mismatchRaised_) return;
  const auto mismatch = report_->mismatch(rank_);
  if (!mismatch) return;
  mismatchRaised_ = true;
  control_->raise(ncclInvalidUsage, rank_, *mismatch);
}

void Communicator::copyLocally(const StreamCall& call) {
  if (call.call.input != call.call.output)
    runtime::copyOnDevice(call.call.output, call.call.input, call.call.bytes(), call.stream);
}

// The calls from 'next' on that one kernel launch holds; moves 'next' behind them.
KernelArgs Communicator::planBatch(const std::vector<StreamCall>& calls, size_t& next) {
  KernelArgs args;
  args.channels = reinterpret_cast<ChannelState*>(channels_.data());
  args.workCount = 0;
  const runtime::Stream stream = calls[next].stream;
  uint64_t steps = 0;
  for (; next < calls.size() && calls[next].stream == stream && args.workCount < kMaxWorksPerLaunch; ++next) {
    const Call& call = calls[next].call;
    const bool moves = call.count > 0 && ranks_ > 1;
    const Work work = moves ? planCall(call, sequence_ + 1, ring_, settings_) : Work{};
    const uint64_t more = moves ? countSteps(work) : 0;
    if (more > kMaxLaunchSteps) {
      rondo::fail(ncclInvalidUsage, "{}: {} bytes are too many for slots of {} bytes: raise NCCL_BUFFSIZE",
                  describe(call, sequence_ + 1), call.bytes(), settings_.slotBytes);
    }
    if (steps + more > kMaxLaunchSteps) break;
    steps += more;
    ++sequence_;  // a call without elements counts too
    logCall(calls[next]);
    if (moves) args.works[args.workCount++] = work;
    if (ranks_ == 1) copyLocally(calls[next]);
  }
  return args;
}

void Communicator::logCall(const StreamCall& call) {
  report_->logCall(call.call, sequence_, call.stream);
  log::info(log::kColl, "{}: sendbuff {} recvbuff {} comm {:x} [nranks={}] stream {}", describe(call.call, sequence_),
            call.call.input, static_cast<const void*>(call.call.output), id_, ranks_,
            static_cast<const void*>(call.stream));
}

void Communicator::enqueue(const StreamCall& call) {
  if (group::active()) {
    group::collect(shared_from_this(), call);
  } else {
    launch({call});
  }
}

// Plans the calls (planBroadcast, planAllReduce) and launches as few kernels as hold them.
void Communicator::launch(const std::vector<StreamCall>& calls) {
  std::lock_guard lock(mutex_);
  throwIfFailed();
  const runtime::DeviceGuard guard(device_);
  try {
    for (size_t next = 0; next < calls.size();) {
      const runtime::Stream stream = calls[next].stream;
      const KernelArgs args = planBatch(calls, next);
      if (args.workCount == 0) continue;
      if (launched_ && stream != lastStream_) lastLaunch_->makeWait(stream);
      wiring_->noteLaunch(blocksOf(args));
      launchCollectives(args, {blocksOf(args), settings_.workers, settings_.waveSize}, stream);
      lastLaunch_->record(stream);
      lastStream_ = stream;
      launched_ = true;
    }
  } catch (const Error& error) {
    // A call that this rank cannot start is one that the others would wait for.
    if (control_) control_->raise(error.code(), rank_, fmt::format("rank {}: {}", rank_, error.text()));
    throw;
  }
}

void Communicator::flush() {
  {
    std::lock_guard lock(mutex_);
    if (!launched_) return;
  }
  lastLaunch_->wait();
}

void Communicator::abort() {
  if (control_) control_->raise(ncclRemoteError, rank_, fmt::format("{} aborted the communicator", control_->describe(rank_)));
  if (report_) report_->raiseAbort();
  flush();
}

void Communicator::leave() {
  if (wiring_) wiring_->leave();
  if (control_) control_->leave();
}

bool Communicator::allLeft() const { return !control_ || control_->waitAllLeft({}, std::chrono::milliseconds(0)); }

void Communicator::waitAllLeft() {
  while (control_ && !control_->waitAllLeft({}, std::chrono::seconds(60))) {
    log::info(log::kDestroy, "rank {} waits for the other ranks to destroy the communicator", rank_);
  }
}

}  // namespace rondo
