// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A barrier between some waves of a block, on a word in shared memory: any subset, any number of waves from 1. The count
// of arrivals only grows and each wave keeps its own epoch, so there is no phase bit to race on and the barrier can be
// used again at once. It has no abort exit: abort is decided by the progress wavefront, so that all waves get here.
#pragma once

#include "device/arch/arch.h"

namespace rondo {

class WaveBarrier {
 public:
  // arrivals is zeroed once per launch, before a syncBlock. waves is how many take part; each has a WaveBarrier.
  RONDO_DEVICE WaveBarrier(Word& arrivals, unsigned waves) : arrivals_(arrivals), waves_(waves) {}

  // Converged. What any of the waves did before it is visible to all of them after it.
  RONDO_DEVICE void arriveAndWait() {
    arch::drainStores();
    {
      arch::Reconverge scope;
      // Release on arrival: pairs with the acquire below in the other waves.
      if (arch::oneLane()) arch::fetchAdd<arch::Scope::kBlock>(arrivals_, 1);
    }
    target_ += waves_;
    while (arch::shuffle(arch::loadRelaxed<arch::Scope::kBlock>(arrivals_), 0) < target_) arch::spinPause();
    arch::loadAcquire<arch::Scope::kBlock>(arrivals_);
    arch::syncWave();
  }

 private:
  Word& arrivals_;
  unsigned waves_;
  uint64_t target_ = 0;
};

}  // namespace rondo
