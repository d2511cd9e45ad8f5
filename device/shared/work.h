// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a kernel gets: the rank's channels (device memory, made at init) and the calls of this launch (kernel
// parameters). No step, sequence number or epoch is a kernel argument that the protocol depends on: steps live in
// ChannelState and are written back by the kernel, so that a replayed graph stays right.
#pragma once

#include <cstdint>

#include "device/shared/fifo.h"
#include "device/shared/report.h"
#include "device/shared/types.h"

namespace rondo {

// One ring channel of one rank, in that rank's device memory.
struct ChannelState {
  Fifo receive;      // this rank consumes; the previous rank produces
  Fifo send;         // this rank produces; the next rank consumes
  Word receiveStep;  // next step of each, kept between kernels
  Word sendStep;
  uint32_t previous;  // peer ranks, for reports
  uint32_t next;
  uint32_t readsSource;  // 1: the consumer of 'send' reads payloads at SlotHeader::source
  ReportPage* report;  // pinned host memory
  Word launches;       // kernels that have ended on this channel
  Landing* landing;    // pinned host memory: of the receive FIFO, if its producer can write users' buffers; or null
  Word* ended;         // pinned host memory: told the same number, for a proxy that sleeps between kernels; or null
};

// One call.
struct Work {
  const void* input;
  void* output;
  uint64_t count;      // elements
  uint64_t sequence;   // the communicator's call number, from 1; for reports
  uint64_t hash;       // of (sequence, kind, count, type, op, root)
  uint64_t stepBytes;  // payload per step, at most slotBytes, a multiple of 16
  uint64_t leadBytes;  // likewise of the first kLeadSteps steps of a broadcast
  CollectiveKind kind;
  Reduction reduction;
  uint32_t ringIndex;      // this rank's place in the ring; for broadcast counted from the root
  uint32_t ringSize;       // ranks
  uint32_t channels;       // blocks that take part; blocks beyond leave the call alone
  uint32_t stepsPerChunk;  // steps of one chunk of a cyclic algorithm
};

constexpr uint32_t kMaxWorksPerLaunch = 24;

struct KernelArgs {
  ChannelState* channels;  // one per block
  uint32_t workCount;
  Work works[kMaxWorksPerLaunch];
};
static_assert(sizeof(KernelArgs) <= 4096, "kernel parameters are limited to 4 KiB");

}  // namespace rondo
