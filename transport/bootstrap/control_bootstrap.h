// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The exchanges of a control plane as a Bootstrap: what init, split and shrink exchange after the ranks have met.
// Belongs to the thread that uses it; the ControlPlane must outlive it.
#pragma once

#include <chrono>
#include <utility>

#include "transport/bootstrap/bootstrap.h"
#include "transport/bootstrap/control.h"

namespace rondo {

class ControlBootstrap : public Bootstrap {
 public:
  // timeout: see ControlPlane::allGather; 0: none.
  ControlBootstrap(ControlPlane& plane, AbortPredicate aborted, std::chrono::seconds timeout = std::chrono::seconds(0))
      : plane_(plane), aborted_(std::move(aborted)), timeout_(timeout) {}

  int rank() const override { return plane_.rank(); }
  int size() const override { return plane_.size(); }
  void allGather(void* all, size_t bytesPerRank) override { plane_.allGather(all, bytesPerRank, aborted_, timeout_); }

 private:
  ControlPlane& plane_;
  const AbortPredicate aborted_;
  const std::chrono::seconds timeout_;
};

}  // namespace rondo
