// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/complaints.h"

#include "src/base/log.h"

namespace rondo {

namespace {
constexpr int kMostSingly = 10;
constexpr std::chrono::seconds kSumPeriod{10};
}  // namespace

void Complaints::add(const std::string& what) {
  if (told_ < kMostSingly) {
    ++told_;
    RONDO_WARN("{}: {}{}", place_, what, told_ == kMostSingly ? "; more of this kind will only be counted" : "");
    return;
  }
  if (untold_ == 0) nextSum_ = Clock::now() + kSumPeriod;
  ++untold_;
  last_ = what;
}

void Complaints::tick(Clock::time_point now) {
  if (untold_ > 0 && now >= nextSum_) flush();
}

void Complaints::flush() {
  if (untold_ > 0) RONDO_WARN("{}: {} more warnings like these, the last one: {}", place_, untold_, last_);
  untold_ = 0;
}

}  // namespace rondo
