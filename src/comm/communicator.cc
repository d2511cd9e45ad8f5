// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/communicator.h"

#include <algorithm>

#include "device/kernels/kernel.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/group.h"

namespace rondo {

Communicator::~Communicator() = default;

void Communicator::throwIfFailed() const {
  std::lock_guard lock(errorMutex_);
  if (error_ != ncclSuccess) throw Error(error_, errorText_);
}

ncclResult_t Communicator::asyncError() const {
  std::lock_guard lock(errorMutex_);
  return error_;
}

std::string Communicator::errorText() const {
  std::lock_guard lock(errorMutex_);
  return errorText_;
}

// The first error wins; every wait of the kernels ends.
void Communicator::fail(ncclResult_t code, const std::string& text) {
  {
    std::lock_guard lock(errorMutex_);
    if (error_ != ncclSuccess) return;
    error_ = code;
    errorText_ = text;
  }
  setLastError(text);
  RONDO_WARN("rank {}: {}", rank_, text);
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

// Calls that one kernel launch will hold.
struct Communicator::Batch {
  KernelArgs args;
  runtime::Stream stream = nullptr;
  uint64_t steps = 0;
};

void Communicator::launchBatch(Batch& batch) {
  KernelArgs& args = batch.args;
  if (args.workCount == 0) return;
  if (launched_ && batch.stream != lastStream_) lastLaunch_->makeWait(batch.stream);
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < args.workCount; ++i) blocks = std::max(blocks, args.works[i].channels);
  launchCollectives(args, blocks, settings_.workers, settings_.waveSize, batch.stream);
  lastLaunch_->record(batch.stream);
  lastStream_ = batch.stream;
  launched_ = true;
  args.workCount = 0;
  batch.steps = 0;
}

void Communicator::addToBatch(Batch& batch, const StreamCall& call) {
  const uint64_t sequence = ++sequence_;  // a call without elements counts too
  report_->logCall(call.call, sequence, call.stream);
  log::info(log::kColl, "{}: sendbuff {} recvbuff {} comm {:x} [nranks={}] stream {}", describe(call.call, sequence),
            call.call.input, static_cast<const void*>(call.call.output), id_, ranks_,
            static_cast<const void*>(call.stream));
  if (call.call.count == 0) return;
  if (ranks_ == 1) return copyLocally(call);
  const Work work = planCall(call.call, sequence, ring_, settings_);
  const uint64_t steps = countSteps(work);
  if (steps > kMaxLaunchSteps) {
    rondo::fail(ncclInvalidUsage, "{}: {} bytes are too many for slots of {} bytes: raise NCCL_BUFFSIZE",
                describe(call.call, sequence), call.call.bytes(), settings_.slotBytes);
  }
  const bool full = batch.args.workCount == kMaxWorksPerLaunch || batch.steps + steps > kMaxLaunchSteps;
  if (full || call.stream != batch.stream) launchBatch(batch);
  batch.stream = call.stream;
  batch.args.works[batch.args.workCount++] = work;
  batch.steps += steps;
}

void Communicator::enqueue(const StreamCall& call) {
  if (group::active()) {
    group::collect(shared_from_this(), call);
  } else {
    launch({call});
  }
}

// Plans each call and launches as few kernels as hold them: see planBroadcast and planAllReduce.
void Communicator::launch(const std::vector<StreamCall>& calls) {
  std::lock_guard lock(mutex_);
  throwIfFailed();
  const runtime::DeviceGuard guard(device_);
  Batch batch;
  batch.args.channels = reinterpret_cast<ChannelState*>(channels_.data());
  batch.args.workCount = 0;
  try {
    for (const StreamCall& call : calls) addToBatch(batch, call);
    launchBatch(batch);
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
  if (control_) control_->leave();
}

bool Communicator::allLeft() const { return !control_ || control_->waitAllLeft({}, std::chrono::milliseconds(0)); }

void Communicator::waitAllLeft() {
  while (control_ && !control_->waitAllLeft({}, std::chrono::seconds(60))) {
    log::info(log::kDestroy, "rank {} waits for the other ranks to destroy the communicator", rank_);
  }
}

}  // namespace rondo
