// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/wire.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/host.h"

namespace rondo::wire {

Hello makeHello(const char (&magic)[8], uint64_t secret, int rank, int ranks) {
  Hello hello{};
  std::memcpy(hello.magic, magic, sizeof(hello.magic));
  hello.secret = secret;
  hello.version = kVersion;
  hello.rank = rank;
  hello.ranks = ranks;
  hello.pid = getpid();
  const std::string host = hostName();
  std::memcpy(hello.host, host.data(), std::min(host.size(), sizeof(hello.host) - 1));
  return hello;
}

std::string describe(const Hello& hello) {
  const std::string host(hello.host, strnlen(hello.host, sizeof(hello.host)));
  return fmt::format("rank {} ({}:{})", hello.rank, host, hello.pid);
}

std::vector<char> packError(const ErrorReport& report) {
  const ErrorHead head{static_cast<int32_t>(report.code), report.peer};
  std::vector<char> payload(sizeof(head) + report.text.size());
  std::memcpy(payload.data(), &head, sizeof(head));
  std::copy(report.text.begin(), report.text.end(), payload.begin() + sizeof(head));
  return payload;
}

ErrorReport unpackError(const std::vector<char>& payload) {
  ErrorHead head{};
  if (payload.size() < sizeof(head)) return {ncclInternalError, -1, "an error message that is cut short"};
  std::memcpy(&head, payload.data(), sizeof(head));
  const bool known = head.code > ncclSuccess && head.code < ncclInProgress;
  return {known ? static_cast<ncclResult_t>(head.code) : ncclInternalError, head.peer,
          std::string(payload.begin() + sizeof(head), payload.end())};
}

std::vector<char> packRanks(const std::vector<int>& ranks) {
  const char* bytes = reinterpret_cast<const char*>(ranks.data());
  return std::vector<char>(bytes, bytes + ranks.size() * sizeof(int32_t));
}

std::vector<int> unpackRanks(const std::vector<char>& payload, int count) {
  std::vector<int> ranks(payload.size() / sizeof(int32_t));
  if (ranks.size() * sizeof(int32_t) != payload.size()) return {};
  if (!payload.empty()) std::memcpy(ranks.data(), payload.data(), payload.size());
  const bool valid = std::all_of(ranks.begin(), ranks.end(), [count](int rank) { return rank >= 0 && rank < count; });
  return valid ? ranks : std::vector<int>();
}

std::string rankText(const std::vector<int>& ranks) {
  constexpr size_t kMaxParts = 16;
  std::string text;
  size_t parts = 0;
  for (size_t i = 0; i < ranks.size(); ++parts) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (parts == kMaxParts) return fmt::format("ranks {} and {} more", text, ranks.size() - i);
    if (parts > 0) text += ", ";
    text +=
        last == i ? std::to_string(ranks[i]) : fmt::format("{}{}{}", ranks[i], last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace rondo::wire
