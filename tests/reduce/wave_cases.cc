// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/reduce/wave_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/runtime/runtime.h"
#include "tests/reduce/reference.h"
#include "tests/reduce/wave_kernel.h"

namespace rondo::wavetest {

namespace {

constexpr size_t kGuard = 64;

// Where a case's ranges lie in the common memory.
struct Layout {
  size_t out;
  size_t second;
  size_t received;
  size_t own;
  size_t bytes;
};

Layout place(const Case& c, size_t& end) {
  Layout layout = {};
  layout.bytes = c.count * elementBytes(c.reduction.type);
  const auto take = [&](unsigned offset) {
    const size_t begin = end + offset;
    end += (offset + layout.bytes + kGuard + 63) / 64 * 64;
    return begin;
  };
  layout.received = take(c.receivedOffset);
  layout.own = take(c.ownOffset);
  const auto choose = [&](Place where, unsigned offset) {
    if (where == Place::kOwn) return layout.own;
    if (where == Place::kReceived) return layout.received;
    return where == Place::kApart ? take(offset) : size_t{0};
  };
  layout.out = choose(c.out, c.outOffset);
  layout.second = choose(c.second, c.secondOffset);
  return layout;
}

void fill(const Case& c, const Layout& layout, std::vector<char>& memory, uint64_t& state) {
  const size_t element = elementBytes(c.reduction.type);
  for (size_t i = 0; i < c.count; ++i) {
    const uint64_t received = c.received.empty() ? drawElement(c.reduction.type, state) : c.received[i];
    const uint64_t own = c.own.empty() ? drawElement(c.reduction.type, state) : c.own[i];
    memcpy(&memory[layout.received + i * element], &received, element);
    memcpy(&memory[layout.own + i * element], &own, element);
  }
}

uint64_t expectedElement(const Case& c, uint64_t received, uint64_t own) {
  switch (c.operation) {
    case Operation::kCopy:
    case Operation::kStridedCopy:
      return own;
    case Operation::kPrepare:
      return reference::prepare(c.reduction, own);
    case Operation::kReduce:
    case Operation::kStridedReduce:
      return reference::reduce(c.reduction, received, own, c.last);
  }
  return 0;
}

void applyReference(const Case& c, const Layout& layout, std::vector<char>& memory) {
  const size_t element = elementBytes(c.reduction.type);
  for (size_t at = 0; at < layout.bytes; at += element) {
    const uint64_t received = reference::loadElement(&memory[layout.received + at], element);
    const uint64_t own = reference::loadElement(&memory[layout.own + at], element);
    const uint64_t result = expectedElement(c, received, own);
    memcpy(&memory[layout.out + at], &result, element);
    if (c.second != Place::kNowhere) memcpy(&memory[layout.second + at], &result, element);
  }
}

std::vector<char> runOnDevice(const std::vector<Case>& cases, const std::vector<Layout>& layouts,
                              const std::vector<char>& initial) {
  runtime::DeviceMemory memory(initial.size(), runtime::MemoryUse::kPrivate);
  runtime::DeviceMemory itemMemory(cases.size() * sizeof(Item), runtime::MemoryUse::kPrivate);
  std::vector<Item> items;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Layout& at = layouts[i];
    char* base = memory.data();
    items.push_back({cases[i].operation, cases[i].reduction, cases[i].last ? 1u : 0u, base + at.out,
                     cases[i].second != Place::kNowhere ? base + at.second : nullptr, base + at.received,
                     base + at.own, at.bytes});
  }
  runtime::copyToDevice(memory.data(), initial.data(), initial.size());
  runtime::copyToDevice(itemMemory.data(), items.data(), items.size() * sizeof(Item));
  const runtime::OwnedStream stream;
  launchItems(reinterpret_cast<const Item*>(itemMemory.data()), items.size(), stream.get());
  stream.synchronize();
  std::vector<char> result(initial.size());
  runtime::copyFromDevice(result.data(), memory.data(), result.size());
  return result;
}

}  // namespace

std::string describe(const Case& c) {
  return fmt::format(
      "operation {} type {} op {} ranks {} last {} count {} out {}+{} second {}+{} received +{} own +{}",
      static_cast<int>(c.operation), static_cast<int>(c.reduction.type), static_cast<int>(c.reduction.op),
      c.reduction.ranks, c.last, c.count, static_cast<int>(c.out), c.outOffset, static_cast<int>(c.second),
      c.secondOffset, c.receivedOffset, c.ownOffset);
}

uint64_t nextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t drawElement(DataType type, uint64_t& state) {
  const uint64_t random = nextRandom(state);
  const uint64_t kind = nextRandom(state) % 8;
  const unsigned width = static_cast<unsigned>(8 * elementBytes(type));
  const uint64_t sign = (random & 1) << (width - 1);
  if (kind == 0) return reference::wrapped(type, random % 5 - 2);  // small integers; subnormals, NaNs with payload
  if (!reference::isFloating(type)) {
    return kind == 1 ? sign - (random >> 1) % 2 : reference::wrapped(type, random);
  }
  const double specials[] = {0.0, 1.0, 65504.0, 65520.0, 0x1p-14, 0x1.8p-25, 3.0, std::numeric_limits<double>::infinity()};
  if (kind == 1) return sign | reference::encode(type, specials[(random >> 8) % 8]);
  if (kind == 2) return reference::wrapped(type, random);
  // Close to 1, so that sums cancel and ties are frequent.
  return sign | reference::encode(type, std::ldexp(static_cast<double>(random % 4096) + 1.0, static_cast<int>(kind) - 10));
}

std::vector<std::string> run(const std::vector<Case>& cases, uint64_t seed) {
  size_t end = kGuard;
  std::vector<Layout> layouts;
  for (const Case& c : cases) layouts.push_back(place(c, end));
  uint64_t state = seed;
  std::vector<char> memory(end + kGuard);
  for (char& byte : memory) byte = static_cast<char>(nextRandom(state));
  for (size_t i = 0; i < cases.size(); ++i) fill(cases[i], layouts[i], memory, state);
  const std::vector<char> found = runOnDevice(cases, layouts, memory);
  for (size_t i = 0; i < cases.size(); ++i) applyReference(cases[i], layouts[i], memory);

  std::vector<std::string> differences;
  for (size_t at = 0; at < memory.size() && differences.size() < 10; ++at) {
    if (memory[at] == found[at]) continue;
    size_t owner = 0;
    while (owner + 1 < cases.size() && layouts[owner + 1].received <= at) ++owner;
    differences.push_back(fmt::format("byte {} (received at {}, own {}, out {}, second {}): {:02x}, not {:02x}; {}", at,
                                      layouts[owner].received, layouts[owner].own, layouts[owner].out,
                                      layouts[owner].second, static_cast<unsigned char>(found[at]),
                                      static_cast<unsigned char>(memory[at]), describe(cases[owner])));
    at = at / 64 * 64 + 63;
  }
  return differences;
}

}  // namespace rondo::wavetest
