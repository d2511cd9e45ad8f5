// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The library's own allocations and copies must be possible while the program captures a graph on some stream, in this
// thread or another: for the object's life the calling thread is in the relaxed capture mode.
#pragma once

#include "device/runtime/vendor.h"

namespace rondo::runtime {

class RelaxedCapture {
 public:
  RelaxedCapture() : exchanged_(vendor::exchangeCaptureMode(&mode_) == vendor::kSuccess) {}
  ~RelaxedCapture() {
    if (exchanged_) (void)vendor::exchangeCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  vendor::CaptureMode mode_ = vendor::kRelaxedCapture;  // afterwards the thread's own
  const bool exchanged_;
};

}  // namespace rondo::runtime
