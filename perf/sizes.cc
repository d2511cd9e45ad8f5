// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "sizes.h"

#include <algorithm>
#include <limits>

#include "error.h"

namespace perf {
namespace {

constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();
constexpr int kMaxFractionDigits = 12;
constexpr const char* kAllowed = "allowed are 0 to 2^63-1 bytes, such as 8, 1K, 1.5G, 64M or 64MiB";

[[noreturn]] void failSize(const std::string& flag, const std::string& text, const char* reason) {
  failUsage("{} {}: {}; {}", flag, text, reason, kAllowed);
}

// The factor that "", "b", "k", "kb" or "kib" (and so on) stands for; 0 when it is no unit.
uint64_t parseUnit(std::string unit) {
  for (char& c : unit) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  if (unit.empty() || unit == "b") return 1;
  const size_t power = std::string("kmgt").find(unit[0]);
  const std::string rest = unit.substr(1);
  if (power == std::string::npos || !(rest.empty() || rest == "b" || rest == "ib")) return 0;
  return uint64_t{1} << (10 * (power + 1));
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

uint64_t parseBytes(const std::string& flag, const std::string& text) {
  size_t at = 0;
  unsigned __int128 digits = 0;  // the number without its decimal point
  unsigned __int128 scale = 1;   // ten to the number of fraction digits
  int fraction_digits = 0;
  bool has_digit = false, in_fraction = false;
  for (; at < text.size() && (isDigit(text[at]) || (text[at] == '.' && !in_fraction)); ++at) {
    if (text[at] == '.') {
      in_fraction = true;
      continue;
    }
    has_digit = true;
    digits = digits * 10 + static_cast<unsigned>(text[at] - '0');
    if (in_fraction) scale *= 10;
    if (in_fraction && ++fraction_digits > kMaxFractionDigits) failSize(flag, text, "too many digits");
    if (digits / scale > kMaxBytes) failSize(flag, text, "too large");
  }
  const uint64_t unit = parseUnit(text.substr(at));
  if (!has_digit || unit == 0) failSize(flag, text, "not a size");
  // digits < 2^63 * 10^12 < 2^103; a product that would pass 2^128 is already too large.
  if (digits / scale > kMaxBytes / unit) failSize(flag, text, "too large");
  const unsigned __int128 whole = digits / scale * unit;
  const unsigned __int128 part = digits % scale * unit;
  if (part % scale != 0) failSize(flag, text, "not a whole number of bytes");
  const unsigned __int128 bytes = whole + part / scale;
  if (bytes > kMaxBytes) failSize(flag, text, "too large");
  return static_cast<uint64_t>(bytes);
}

std::vector<uint64_t> listSizes(const SizeRange& range) {
  std::vector<uint64_t> sizes;
  for (uint64_t size = range.min_bytes;;) {
    sizes.push_back(size);
    if (range.factor) {
      // 0 times a factor stays 0: the sweep goes on from 1.
      if (size > range.max_bytes / range.factor) break;
      size = size == 0 ? 1 : size * range.factor;
      if (size > range.max_bytes) break;
    } else {
      if (range.step_bytes > range.max_bytes - size) break;
      size += range.step_bytes;
    }
  }
  return sizes;
}

uint64_t countSizes(const SizeRange& range) {
  if (range.factor) return listSizes(range).size();  // at most 64
  return (range.max_bytes - range.min_bytes) / range.step_bytes + 1;
}

std::string formatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

}  // namespace perf
