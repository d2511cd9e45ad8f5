// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo {

namespace {

struct NameRule {
  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;

  bool allows(const std::string& name) const {
    const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& entry) {
      return exact ? name == entry : name.starts_with(entry);
    });
    return listed != exclude;
  }
};

NameRule parseNames(std::string_view text) {
  NameRule rule;
  rule.exclude = text.starts_with('^');
  if (rule.exclude) text.remove_prefix(1);
  rule.exact = text.starts_with('=');
  if (rule.exact) text.remove_prefix(1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) rule.names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return rule;
}

int parseFamily(const std::string& text) {
  if (text.empty()) return AF_UNSPEC;
  if (text == "AF_INET") return AF_INET;
  if (text == "AF_INET6") return AF_INET6;
  fail(ncclInvalidArgument, "NCCL_SOCKET_FAMILY={}: must be AF_INET or AF_INET6", text);
}

// Lower is better. Without a carrier no other host is reached, so that even the loopback interface is as good.
int nameClass(const Interface& entry) {
  if (entry.address.isLoopback()) return 3;
  if (!entry.running) return 4;
  if (entry.name.starts_with("ib")) return 0;
  for (const char* prefix : {"docker", "virbr", "veth"})
    if (entry.name.starts_with(prefix)) return 2;
  return 1;
}

// With names given by the user only the carrier counts; else the name's class. An address that routers pass on is
// better than a link-local one, IPv4 is better than IPv6 as it needs no scope.
int order(const Interface& entry, bool named) {
  const int first = named ? (entry.running ? 0 : 1) : nameClass(entry);
  return first * 4 + (entry.address.isLinkLocal() ? 2 : 0) + (entry.address.family() == AF_INET6 ? 1 : 0);
}

std::string listText(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& entry : all)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", entry.name, entry.address.hostText(),
                        entry.running ? "" : " (no carrier)");
  return text.empty() ? "none" : text;
}

InterfaceRules rulesFromEnvironment() {
  return {env::text("NCCL_SOCKET_IFNAME").value_or(""), env::text("NCCL_SOCKET_FAMILY").value_or("")};
}

void logChoice(const Interface& chosen) {
  static std::mutex mutex;  // protects last; a leaf lock
  static auto* last = new std::string;
  const std::string text = fmt::format("{}:{}", chosen.name, chosen.address.hostText());
  {
    std::lock_guard lock(mutex);
    if (text == *last) return;
    *last = text;
  }
  log::info(log::kInit | log::kBootstrap | log::kNet, "Bootstrap: using {}", text);
}

}  // namespace

std::vector<Interface> listInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) failErrno("getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<Interface> result;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
    result.push_back({entry->ifa_name, SocketAddress(entry->ifa_addr), (entry->ifa_flags & IFF_RUNNING) != 0});
  }
  return result;
}

std::vector<Interface> rankInterfaces(const std::vector<Interface>& all, const InterfaceRules& rules) {
  const int family = parseFamily(rules.family);
  const NameRule names = parseNames(rules.names);
  const bool chosenByName = !rules.names.empty() && !names.exclude;
  std::vector<Interface> result;
  for (const Interface& entry : all) {
    if (family != AF_UNSPEC && entry.address.family() != family) continue;
    if (!rules.names.empty() && !names.allows(entry.name)) continue;
    result.push_back(entry);
  }
  std::stable_sort(result.begin(), result.end(), [&](const Interface& a, const Interface& b) {
    return order(a, chosenByName) < order(b, chosenByName);
  });
  return result;
}

int socketFamily() {
  return parseFamily(env::text("NCCL_SOCKET_FAMILY").value_or(""));
}

std::string preferredAddress() {
  const auto ranked = rankInterfaces(listInterfaces(), rulesFromEnvironment());
  return ranked.empty() ? "" : ranked.front().address.hostText();
}

Fd listenOnInterface() {
  const auto all = listInterfaces();
  const InterfaceRules rules = rulesFromEnvironment();
  std::string failures;
  for (const Interface& entry : rankInterfaces(all, rules)) {
    int error = 0;
    const char* call = "";
    Fd fd = listenOn(entry.address, &error, &call);
    if (fd.valid()) {
      logChoice(entry);
      return fd;
    }
    failures += fmt::format("; {} {}: {}: {}", entry.name, entry.address.hostText(), call, errnoText(error));
    // An address that is still being checked for duplicates cannot be bound; another one may do.
    if (error != EADDRNOTAVAIL) fail(ncclSystemError, "cannot listen{}", failures);
  }
  const bool restricted = !rules.names.empty() || !rules.family.empty();
  const std::string why = restricted ? fmt::format(" for NCCL_SOCKET_IFNAME={} NCCL_SOCKET_FAMILY={}",
                                                   rules.names.empty() ? "(not set)" : rules.names,
                                                   rules.family.empty() ? "(not set)" : rules.family)
                                     : "";
  fail(restricted && failures.empty() ? ncclInvalidArgument : ncclSystemError,
       "no usable network interface{}; interfaces seen: {}{}", why, listText(all), failures);
}

}  // namespace rondo
