// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// RingChannel: one worker wave's end of a ring channel. Each operation is one step: wait for the progress wavefront's
// grant, move this wave's part of the piece, tell the progress wavefront. There is no barrier in a step: every wave goes
// at its own pace, and a step is posted when the slowest wave has done it. A wave's part of a piece depends only on the
// piece's size and the wave's number, so that a wave that reads the output again (sendOutput) reads only its own writes.
// Where the consumer of the send FIFO can read this rank's buffers (ChannelState::readsSource), a large piece that is sent
// unchanged is not copied into the slot: the slot's header says where it lies, and the call does not end before the
// consumer has done with it (finishCall).
// Where a proxy receives and can write this rank's buffers (ChannelState::landing), the call says which steps are to come
// (expect, openReceives), and those that the proxy let land in the output need no copy (hasLanded).
// After an abort the operations do nothing, so that algorithms need no error path.
#pragma once

#include "device/primitives/copy.h"
#include "device/primitives/progress.h"
#include "device/primitives/reduce.h"
#include "device/shared/piece.h"

namespace rondo {

class RingChannel {
 public:
  RONDO_DEVICE RingChannel(ChannelState& state, ProgressShared& shared, unsigned worker, unsigned workers)
      : state_(state), shared_(shared), worker_(worker), workers_(workers) {
    receiveBase_ = arch::loadRelaxed<arch::Scope::kDevice>(state.receiveStep);
    sendBase_ = arch::loadRelaxed<arch::Scope::kDevice>(state.sendStep);
  }

  RONDO_DEVICE void startCall(const Work& work) {
    work_ = &work;
    input_ = static_cast<const char*>(work.input);
    output_ = static_cast<char*>(work.output);
    headerPending_ = true;
    leftInPlace_ = false;
    // A chain expects its steps, or has none but the first few.
    if (work.kind == CollectiveKind::kAllReduce) openReceives(kNoLimit);
  }

  // All waves have done with the call before (kernel.cc): nobody reads what lands in its stead.
  RONDO_DEVICE void expect(Piece range, uint64_t stepBytes) {
    if (state_.landing == nullptr || worker_ != 0) return;
    arch::Reconverge scope;
    if (!arch::oneLane()) return;
    Landing& landing = *state_.landing;
    const uint64_t first = receiveBase_ + received_ + kLeadSteps;
    arch::storeRelaxed<arch::Scope::kSystem>(landing.first, first);
    arch::storeRelaxed<arch::Scope::kSystem>(landing.address, reinterpret_cast<uint64_t>(output_ + range.offset));
    arch::storeRelaxed<arch::Scope::kSystem>(landing.stepBytes, stepBytes);
    arch::storeRelaxed<arch::Scope::kSystem>(landing.bytes, range.bytes);
    // Release: pairs with ReceiveConnection::landingOf's acquire.
    arch::storeRelease<arch::Scope::kSystem>(landing.end, first + divideRoundUp(range.bytes, stepBytes));
  }

  // After a call: what was left in the user's buffers has been read when it returns.
  RONDO_DEVICE void finishCall() {
    if (work_->kind == CollectiveKind::kAllReduce) openReceives(0);
    if (!leftInPlace_ || aborted_) return;
    // The grant is the steps released by the consumer plus the depth: all of this rank's have been when it is above this.
    const uint64_t lastStep = sent_ + state_.send.depth - 1;
    aborted_ = !awaitGrant(shared_.grantSend, lastStep, state_.report->send, state_.next, sendBase_);
  }

  RONDO_DEVICE void send(Piece piece) {
    if (!await(false, true)) return;
    if (isLeftInPlace(piece) && work_->reduction.op != RedOp::kAvg)
      return finishStep(piece, false, true, input_ + piece.offset);
    const Piece part = partOf(piece);
    prepareRange(work_->reduction, sendSlot() + part.offset, input_ + piece.offset + part.offset, part.bytes);
    finishStep(piece, false, true);
  }

  RONDO_DEVICE void sendCopy(Piece piece) {
    if (!await(false, true)) return;
    const Piece part = partOf(piece);
    const uint64_t at = piece.offset + part.offset;
    if (isLeftInPlace(piece)) {
      if (output_ != input_) copyRange(output_ + at, nullptr, input_ + at, part.bytes);
      return finishStep(piece, false, true, input_ + piece.offset);
    }
    copyRange(sendSlot() + part.offset, output_ == input_ ? nullptr : output_ + at, input_ + at, part.bytes);
    finishStep(piece, false, true);
  }

  RONDO_DEVICE void sendOutput(Piece piece) {
    if (!await(false, true)) return;
    if (isLeftInPlace(piece)) return finishStep(piece, false, true, output_ + piece.offset);
    const Piece part = partOf(piece);
    copyRange(sendSlot() + part.offset, nullptr, output_ + piece.offset + part.offset, part.bytes);
    finishStep(piece, false, true);
  }

  RONDO_DEVICE void receive(Piece piece) {
    if (!await(true, false)) return;
    if (hasLanded()) return finishStep(piece, true, false);
    const Piece part = partOf(piece);
    copyRange(output_ + piece.offset + part.offset, nullptr, receiveSlot() + part.offset, part.bytes);
    finishStep(piece, true, false);
  }

  RONDO_DEVICE void forward(Piece piece) {
    if (!await(true, true)) return;
    const Piece part = partOf(piece);
    char* own = output_ + piece.offset + part.offset;
    const bool landed = hasLanded();
    if (isLeftInPlace(piece)) {
      if (!landed) copyRange(own, nullptr, receiveSlot() + part.offset, part.bytes);
      return finishStep(piece, true, true, output_ + piece.offset);
    }
    copyRange(sendSlot() + part.offset, landed ? nullptr : own, landed ? own : receiveSlot() + part.offset, part.bytes);
    finishStep(piece, true, true);
  }

  RONDO_DEVICE void receiveReduceSend(Piece piece) {
    if (!await(true, true)) return;
    const Piece part = partOf(piece);
    reducePart(sendSlot() + part.offset, nullptr, piece, part, false);
    finishStep(piece, true, true);
  }

  RONDO_DEVICE void receiveReduceCopy(Piece piece) { receiveReduce(piece, false); }
  RONDO_DEVICE void receiveReduceFinish(Piece piece) { receiveReduce(piece, true); }

  RONDO_DEVICE void receiveReduceFinishSend(Piece piece) {
    if (!await(true, true)) return;
    const Piece part = partOf(piece);
    if (isLeftInPlace(piece)) {
      reducePart(output_ + piece.offset + part.offset, nullptr, piece, part, true);
      return finishStep(piece, true, true, output_ + piece.offset);
    }
    reducePart(sendSlot() + part.offset, output_ + piece.offset + part.offset, piece, part, true);
    finishStep(piece, true, true);
  }

  // After the last call: lets the progress wavefront leave.
  RONDO_DEVICE void finish() { publishDone(kFinished); }

 private:
  RONDO_DEVICE char* sendSlot() const { return slotAddress(state_.send, sendBase_ + sent_); }
  RONDO_DEVICE const char* receiveSlot() const { return slotAddress(state_.receive, receiveBase_ + received_); }

  // This wave's part of a piece, relative to the piece's start.
  RONDO_DEVICE Piece partOf(Piece piece) const {
    const uint64_t share = divideRoundUp(divideRoundUp(piece.bytes, workers_), kGranuleBytes) * kGranuleBytes;
    const uint64_t begin = share * worker_ < piece.bytes ? share * worker_ : piece.bytes;
    return {begin, piece.bytes - begin < share ? piece.bytes - begin : share};
  }

  RONDO_DEVICE void reducePart(char* out, char* secondOut, Piece piece, Piece part, bool last) const {
    reduceRange(work_->reduction, out, secondOut, receiveSlot() + part.offset, input_ + piece.offset + part.offset,
                part.bytes, last);
  }

  RONDO_DEVICE void receiveReduce(Piece piece, bool last) {
    if (!await(true, false)) return;
    const Piece part = partOf(piece);
    reducePart(output_ + piece.offset + part.offset, nullptr, piece, part, last);
    finishStep(piece, true, false);
  }

  // Waits until the next receive and/or send step is granted; false after an abort.
  RONDO_DEVICE bool await(bool receives, bool sends) {
    if (aborted_) return false;
    if (receives) aborted_ = !awaitGrant(shared_.grantReceive, received_, state_.report->receive, state_.previous, receiveBase_);
    if (sends && !aborted_) aborted_ = !awaitGrant(shared_.grantSend, sent_, state_.report->send, state_.next, sendBase_);
    if (aborted_) return false;
    if (receives && headerPending_) checkHeader();
    return true;
  }

  RONDO_DEVICE bool awaitGrant(const Word& grant, uint64_t step, WaitReport* reports, uint32_t peer, uint64_t base) {
    // Lane 0's value for all: lanes of one wave must not disagree about leaving (G4).
    uint64_t now = arch::shuffle(arch::loadRelaxed<arch::Scope::kBlock>(grant), 0);
    if ((now & ~kAborted) <= step) {
      WaitReport& report = reports[arch::blockIndex()];
      const uint64_t since_ns = arch::clock_ns();
      bool reported = false;
      for (unsigned polls = 1; (now & ~kAborted) <= step; ++polls) {
        if ((now & kAborted) != 0) return false;  // the report stays: it says where the wait ended
        if (!reported && worker_ == 0 && polls % kPollsPerClock == 0)
          reported = reportWait(report, base + step, peer, since_ns);
        arch::spinPause();
        now = arch::shuffle(arch::loadRelaxed<arch::Scope::kBlock>(grant), 0);
      }
      if (reported && arch::oneLane()) arch::storeRelaxed<arch::Scope::kSystem>(report.since_ns, 0);
    }
    // Acquire: pairs with the progress wavefront's grant; the slot is this wave's until it says done (F2, F4).
    arch::loadAcquire<arch::Scope::kBlock>(grant);
    arch::syncWave();
    return true;
  }

  // Publishes a wait that has lasted; true once it has (lane 0's clock decides for the wave).
  RONDO_DEVICE bool reportWait(WaitReport& report, uint64_t step, uint32_t peer, uint64_t since_ns) const {
    const uint64_t waited_ns = arch::shuffle(arch::clock_ns() - since_ns, 0);
    if (waited_ns < kReportAfter_ns) return false;
    arch::Reconverge scope;
    if (arch::oneLane()) {
      arch::storeRelaxed<arch::Scope::kSystem>(report.step, step);
      arch::storeRelaxed<arch::Scope::kSystem>(report.peer, peer);
      arch::storeRelaxed<arch::Scope::kSystem>(report.sequence, work_->sequence);
      arch::storeRelease<arch::Scope::kSystem>(report.since_ns, since_ns);  // pairs with the host's acquire load
    }
    return true;
  }

  // The first step of a call carries its hash: ranks that call different things get an error, not silence.
  RONDO_DEVICE void checkHeader() {
    headerPending_ = false;
    if (worker_ != 0) return;
    SlotHeader& header = slotHeader(state_.receive, receiveBase_ + received_);
    const uint64_t hash = arch::shuffle(arch::loadRelaxed<arch::Scope::kSystem>(header.callHash), 0);
    if (hash == work_->hash) return;
    arch::Reconverge scope;
    if (arch::oneLane()) {
      MismatchReport& report = state_.report->mismatch;
      arch::storeRelaxed<arch::Scope::kSystem>(report.sequence, work_->sequence);
      arch::storeRelaxed<arch::Scope::kSystem>(report.expectedHash, work_->hash);
      arch::storeRelaxed<arch::Scope::kSystem>(report.receivedHash, hash);
      arch::storeRelaxed<arch::Scope::kSystem>(report.peer, state_.previous);
      arch::storeRelease<arch::Scope::kSystem>(report.found, 1);  // pairs with Communicator::checkReport
      arch::storeRelaxed<arch::Scope::kSystem>(state_.report->abort, 1);
    }
  }

  RONDO_DEVICE void openReceives(uint64_t below) {
    if (state_.landing == nullptr || worker_ != 0) return;
    arch::Reconverge scope;
    // Relaxed: it only lets the proxy post more receives; free slots are told by head.
    if (arch::oneLane()) arch::storeRelaxed<arch::Scope::kSystem>(state_.landing->open, below);
  }

  // The received step's payload lies in the output already. Written by the proxy before it published the step.
  RONDO_DEVICE bool hasLanded() const {
    if (state_.landing == nullptr) return false;
    const SlotHeader& header = slotHeader(state_.receive, receiveBase_ + received_);
    return arch::shuffle(arch::loadRelaxed<arch::Scope::kSystem>(header.landed), 0) != 0;
  }

  // A rank overwrites what it has left in place only with what has come back round the ring, after the next rank had read
  // it: in the all-gather of an allreduce. The end of the call is guarded by finishCall.
  RONDO_DEVICE bool isLeftInPlace(Piece piece) {
    const bool left = state_.readsSource != 0 && piece.bytes >= kLeastSourceBytes;
    leftInPlace_ = leftInPlace_ || left;
    return left;
  }

  // source: where the piece was left in place; null: it is in the slot.
  RONDO_DEVICE void finishStep(Piece piece, bool received, bool sent, const char* source = nullptr) {
    if (sent && worker_ == 0) {
      arch::Reconverge scope;
      if (arch::oneLane()) {
        SlotHeader& header = slotHeader(state_.send, sendBase_ + sent_);
        arch::storeRelaxed<arch::Scope::kSystem>(header.bytes, piece.bytes);
        arch::storeRelaxed<arch::Scope::kSystem>(header.callHash, work_->hash);
        if (state_.readsSource != 0)
          arch::storeRelaxed<arch::Scope::kSystem>(header.source, reinterpret_cast<uint64_t>(source));
      }
    }
    received_ += received;
    sent_ += sent;
    publishDone(0);
  }

  RONDO_DEVICE void publishDone(uint64_t flag) {
    arch::drainStores();
    arch::Reconverge scope;
    // Release: pairs with the progress wavefront's acquire; covers this wave's reads and stores of the step (F3, F4).
    if (arch::oneLane())
      arch::storeRelease<arch::Scope::kBlock>(shared_.done[worker_], flag | uint64_t{received_} << 32 | sent_);
  }

  static constexpr unsigned kPollsPerClock = 16;
  static constexpr uint64_t kNoLimit = ~uint64_t{0};

  ChannelState& state_;
  ProgressShared& shared_;
  unsigned worker_;
  unsigned workers_;
  uint64_t receiveBase_;  // the FIFOs' steps at launch
  uint64_t sendBase_;
  uint32_t received_ = 0;  // steps of this launch
  uint32_t sent_ = 0;
  const Work* work_ = nullptr;
  const char* input_ = nullptr;
  char* output_ = nullptr;
  bool headerPending_ = false;
  bool leftInPlace_ = false;  // in this call
  bool aborted_ = false;
};

}  // namespace rondo
