// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/shared/piece.h"
#include "src/base/hash.h"

namespace rondo {
namespace {

constexpr uint64_t kBytesPerChannel = 1 << 18;  // below this much a further channel costs more than it brings
constexpr uint64_t kLeastStepBytes = 1 << 13;   // below this a step's fixed cost dominates

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

uint32_t chooseChannels(uint64_t bytes, const Settings& settings) {
  const uint64_t wanted = (bytes + kBytesPerChannel - 1) / kBytesPerChannel;
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, settings.minChannels, settings.maxChannels));
}

uint64_t clampStep(uint64_t bytes, const Settings& settings) {
  return std::min(std::max(roundUp(bytes, kGranuleBytes), std::min(kLeastStepBytes, settings.slotBytes)),
                  settings.slotBytes);
}

Work planRing(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings) {
  Work work{};
  work.input = call.input;
  work.output = call.output;
  work.count = call.count;
  work.sequence = sequence;
  work.hash = callHash(call, sequence);
  work.kind = call.kind;
  work.reduction = {call.type, call.op, ring.size()};
  work.ringSize = ring.size();
  work.channels = chooseChannels(call.bytes(), settings);
  work.stepsPerChunk = std::max<uint32_t>(1, settings.depth / 2);
  return work;
}

}  // namespace

uint64_t callHash(const Call& call, uint64_t sequence) {
  uint64_t hash = hashNumber(sequence, kHashStart);
  for (uint64_t field : {static_cast<uint64_t>(call.kind), call.count, static_cast<uint64_t>(call.type),
                         static_cast<uint64_t>(call.op), static_cast<uint64_t>(call.root)})
    hash = hashNumber(field, hash);
  return hash;
}

const char* nameOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBroadcast:
      return "Broadcast";
    case CollectiveKind::kAllReduce:
      return "AllReduce";
  }
  return "";
}

std::string describe(const Call& call, uint64_t sequence) {
  static constexpr const char* kTypes[] = {"int8",  "uint8",   "int32",   "uint32",  "int64",
                                           "uint64", "float16", "float32", "float64", "bfloat16"};
  static constexpr const char* kOps[] = {"sum", "prod", "max", "min", "avg"};
  const char* type = kTypes[static_cast<uint32_t>(call.type)];
  switch (call.kind) {
    case CollectiveKind::kBroadcast:
      return fmt::format("{} of {} {} from root {} (call {})", nameOf(call.kind), call.count, type, call.root, sequence);
    case CollectiveKind::kAllReduce:
      return fmt::format("{} of {} {}, {} (call {})", nameOf(call.kind), call.count, type,
                         kOps[static_cast<uint32_t>(call.op)], sequence);
  }
  return {};
}

Work planBroadcast(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings) {
  Work work = planRing(call, sequence, ring, settings);
  work.ringIndex = ring.indexFrom(call.root);
  // A chain of n ranks needs some steps per rank to be filled most of the time.
  work.stepBytes = clampStep(call.bytes() / work.channels / (4 * ring.size()), settings);
  // Where receivers say where steps shall land, the lead steps are what is copied: an eighth costs little.
  work.leadBytes = settings.usesNetwork ? clampStep(work.stepBytes / 8, settings) : work.stepBytes;
  return work;
}

Work planAllReduce(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings) {
  Work work = planRing(call, sequence, ring, settings);
  work.ringIndex = ring.index;
  const uint64_t chunk = call.bytes() / work.channels / ring.size();
  work.stepBytes = clampStep(chunk / work.stepsPerChunk, settings);
  return work;
}

Work planCall(const Call& call, uint64_t sequence, const Ring& ring, const Settings& settings) {
  switch (call.kind) {
    case CollectiveKind::kBroadcast:
      return planBroadcast(call, sequence, ring, settings);
    case CollectiveKind::kAllReduce:
      return planAllReduce(call, sequence, ring, settings);
  }
  return {};
}

uint64_t countSteps(const Work& work) {
  const uint64_t bytes = work.count * elementBytes(work.reduction.type) / work.channels + kGranuleBytes;
  const uint64_t once = bytes / work.stepBytes + 1;
  switch (work.kind) {
    case CollectiveKind::kBroadcast:
      return once + kLeadSteps;
    case CollectiveKind::kAllReduce:
      // Every chunk is sent at most twice; each has at most one step that is not full.
      return 2 * (once + (once / work.stepsPerChunk + 1) + work.ringSize);
  }
  return 0;
}

}  // namespace rondo
