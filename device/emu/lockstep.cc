// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Lockstep progress (CHECKER: L1 to L6, early joins, fixed order): diverged lanes of a wave run one side at a time. A
// front is a set of lanes at the same seam call; one front is active and only it executes. It loses its turn only when
// all its lanes are at a join: a wave operation, the end of a Reconverge scope, a block barrier, the kernel's end.
// spinPause is no join: a front that spins keeps its wave to itself, as diverged lanes do on hardware.
#include <algorithm>

#include "device/emu/wave.h"

namespace rondo::emu {

WaveState Wave::runLockstep() {
  if (!fronts_.empty()) {
    for (Lane* lane : fronts_.back()) {
      if (lane->stop == Stop::kPause) lane->stop = Stop::kReady;
    }
  }
  for (;;) {
    while (!fronts_.empty()) {
      if (!stepFront()) return WaveState::kPaused;
      joinScopes();
    }
    // Every live lane is at a join that is no scope's end.
    const auto at = [this](Stop stop) {
      return std::count_if(lanes_.begin(), lanes_.end(), [stop](const Lane& lane) { return lane.stop == stop; });
    };
    const auto live = static_cast<long>(lanes_.size()) - at(Stop::kDone);
    if (live == 0) return WaveState::kDone;
    if (at(Stop::kBlockBarrier) == live) return WaveState::kAtBlockBarrier;
    if (at(Stop::kWaveOperation) != live || !resolveWaveOperation())
      deviceFault(*this, "divergent wave operation: lanes wait at joins that cannot all be met");
    Lanes all;
    for (Lane& lane : lanes_) {
      if (lane.stop == Stop::kReady) all.push_back(&lane);
    }
    fronts_.push_back(std::move(all));
  }
}

// One step of the active front: each lane executes its pending call and runs to its next one. False: the front pauses.
bool Wave::stepFront() {
  active_.swap(fronts_.back());
  fronts_.pop_back();
  enteredScope_ = 0;
  for (Lane* lane : active_) resume(*lane);
  splitFront();
  return fronts_.empty() || fronts_.back().front()->stop != Stop::kPause;
}

// Groups the front's lanes by where they stand now. Lanes at joins leave the front; of the others the group whose call
// stands first in the source order of its kind goes on first, every time the same (fixed order).
void Wave::splitFront() {
  const auto atSameCall = [](const Lane& a, const Lane& b) {
    return a.stop == b.stop && a.site == b.site && a.scope == b.scope;
  };
  const auto atJoin = [](const Lane& lane) { return lane.stop != Stop::kOperation && lane.stop != Stop::kPause; };
  const Lane& first = *active_.front();
  if (std::all_of(active_.begin(), active_.end(), [&](const Lane* lane) { return atSameCall(*lane, first); })) {
    if (!atJoin(first)) fronts_.push_back(active_);
    return;
  }
  std::vector<Lanes> groups;
  for (Lane* lane : active_) {
    if (atJoin(*lane)) continue;
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const Lanes& group) { return atSameCall(*group.front(), *lane); });
    if (same == groups.end()) {
      groups.push_back({lane});
    } else {
      same->push_back(lane);
    }
  }
  std::sort(groups.begin(), groups.end(),
            [](const Lanes& a, const Lanes& b) { return a.front()->site.line > b.front()->site.line; });
  for (Lanes& group : groups) fronts_.push_back(std::move(group));
}

// Scopes whose live members all stand at their end: the members become one front again, and go on first.
bool Wave::joinScopes() {
  bool joined = false;
  for (size_t i = scopes_.size(); i-- > 0;) {
    Lanes members;
    bool complete = true;
    for (Lane* lane : scopes_[i].members) {
      if (lane->stop == Stop::kDone) continue;
      complete = complete && lane->stop == Stop::kScopeEnd && lane->scope == scopes_[i].id;
      members.push_back(lane);
    }
    if (!complete) continue;
    for (Lane* lane : members) {
      lane->scope = scopes_[i].outer;
      lane->stop = Stop::kReady;
    }
    scopes_.erase(scopes_.begin() + static_cast<long>(i));
    if (!members.empty()) fronts_.push_back(std::move(members));
    joined = true;
  }
  return joined;
}

// The lanes of the active front enter a scope in the same step: the first of them makes it, the others find it.
unsigned Wave::pushScope() {
  if (enteredScope_ == 0) {
    enteredScope_ = nextScope_++;
    scopes_.push_back({enteredScope_, currentLane->scope, active_});
  }
  return enteredScope_;
}

}  // namespace rondo::emu
