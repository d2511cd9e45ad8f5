// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The report page: what a rank publishes about itself, in pinned host memory that kernels write and host threads read
// (DESIGN: what every rank publishes). Kernels write a wait here only after it has lasted kReportAfter_ns, so a kernel
// that never waits that long writes nothing to the host.
#pragma once

#include <cstdint>

#include "device/shared/word.h"

namespace rondo {

constexpr uint32_t kMaxChannels = 64;
constexpr uint32_t kIssueLogEntries = 64;
constexpr uint64_t kReportAfter_ns = 100'000;

// One direction of one channel. since_ns is the device clock at the wait's start; 0: not waiting.
struct WaitReport {
  Word step;
  Word peer;
  Word since_ns;
  Word sequence;  // of the call that waits
};

// One call as the host issued it. The writer is the enqueueing thread under the communicator's mutex; sequence is
// stored last (release), so that a reader that finds it unchanged before and after has a whole entry.
struct IssueEntry {
  Word sequence;  // 1, 2, ...; 0: never used
  Word kind;
  Word type;
  Word op;
  Word root;
  Word count;
  Word stream;
  Word thread;
  Word enqueued_ns;
};

// A mismatch found by a kernel: the first step of a call carried another call's hash.
struct MismatchReport {
  Word found;  // 1 when the rest is valid
  Word sequence;
  Word expectedHash;
  Word receivedHash;
  Word peer;
};

struct ReportPage {
  Word abort;  // the communicator's abort flag: host and control plane set it, every wait looks at it
  MismatchReport mismatch;
  WaitReport receive[kMaxChannels];
  WaitReport send[kMaxChannels];
  IssueEntry issued[kIssueLogEntries];
};

}  // namespace rondo
