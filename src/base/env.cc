// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/env.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/log.h"

namespace rondo::env {

namespace {

struct Variable {
  std::string_view name;
  std::string_view meaning;
};

constexpr Variable kVariables[] = {
    {"NCCL_DEBUG", "what the log holds: VERSION, WARN, INFO, ABORT or TRACE; default nothing"},
    {"NCCL_DEBUG_SUBSYS", "subsystems whose INFO and TRACE lines are written; ^ inverts; default INIT,BOOTSTRAP,ENV"},
    {"NCCL_DEBUG_FILE", "file that the log is appended to; %h host, %p process; default standard output"},
    {"NCCL_CONF_FILE", "file of NAME=VALUE lines read instead of ~/.nccl.conf"},
    {"NCCL_COMM_ID", "host:port of rank 0, for programs that hand no unique id around"},
    {"NCCL_SOCKET_IFNAME", "network interfaces: list of prefixes; = exact names; ^ all but these"},
    {"NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6; default either"},
    {"NCCL_STEPS", "slots of a FIFO (depth): power of two, 1 to 64; default a quarter of the wavefront"},
    {"NCCL_BUFFSIZE", "bytes of a FIFO; a slot has NCCL_BUFFSIZE / NCCL_STEPS"},
    {"NCCL_NTHREADS", "threads of a block"},
    {"NCCL_MIN_NCHANNELS", "least number of channels"},
    {"NCCL_MAX_NCHANNELS", "greatest number of channels"},
    {"NCCL_MIN_CTAS", "least number of channels; wins over the configuration's minCTAs"},
    {"NCCL_MAX_CTAS", "greatest number of channels; wins over the configuration's maxCTAs"},
    {"NCCL_COMM_BLOCKING", "0 or 1: wins over the configuration's blocking"},
    {"NCCL_HOSTID", "text that stands for this host: ranks with different texts count as on different hosts"},
    {"NCCL_P2P_DISABLE", "1: ranks of one host use the network too, the shm provider first; default 0"},
    {"NCCL_SHM_DISABLE", "1: ranks of one host never use the shm provider; default 0"},
    {"NCCL_IGNORE_CPU_AFFINITY", "1: the proxy is placed near its device even outside the cores given to the process"},
    {"NCCL_CHECK_POINTERS", "1: each call checks that its buffers are memory the device reaches; default 0"},
    {"RONDO_INIT_TIMEOUT", "seconds that init waits for absent ranks: 1 to 86400, default 600"},
    {"RONDO_CALL_TIMEOUT",
     "seconds that a rank may wait in a call without any movement before that is everybody's error, which names the rank "
     "that is behind: 1 to 86400; default 0: for ever"},
    {"RONDO_MODULE_DIR", "folder of the network module; default that of the library"},
    {"RONDO_FABRIC_OPERATION", "network: tagged (messages) or write (remote writes); default what the provider does best"},
    {"RONDO_FABRIC_ENDPOINTS", "network: endpoints per peer and direction, 1 to 4; default 1"},
    {"RONDO_FABRIC_TX_SIZE", "network: entries of an endpoint's send queue; default the provider's"},
    {"RONDO_FABRIC_RX_SIZE", "network: entries of an endpoint's receive queue; default the provider's"},
    {"RONDO_FABRIC_CQ_SIZE", "network: entries of a completion queue; default send and receive queue together"},
    {"RONDO_FIRST_STEP", "for tests: the step that FIFOs start with, and the calls made before the first; default 0"},
    {"RONDO_EMU_WAVE", "emulated device: lanes of a wavefront, 32 or 64"},
    {"RONDO_EMU_PROGRESS", "emulated device: independent or lockstep"},
    {"RONDO_EMU_DEVICES", "emulated device: number of devices"},
    {"RONDO_EMU_BLOCKS", "emulated device: blocks that are resident together"},
};

bool isHonoured(std::string_view name) {
  for (const Variable& variable : kVariables)
    if (variable.name == name) return true;
  return false;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string homeDirectory() {
  if (const char* home = getenv("HOME")) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

// The configuration files, read at the first use. They take no part in the log's lock: what is wrong with them is kept
// and reported by nameIgnored, as the log itself asks here for its settings.
class ConfigFiles {
 public:
  ConfigFiles() {
    const char* chosen = getenv("NCCL_CONF_FILE");
    if (chosen != nullptr && *chosen != '\0') {
      std::string path = chosen;
      if (path.starts_with("~/")) path = homeDirectory() + path.substr(1);
      if (!read(path)) complaints_.push_back(fmt::format("NCCL_CONF_FILE={}: {}; ignored", chosen, errnoText(errno)));
    } else {
      read(homeDirectory() + "/.nccl.conf");
    }
    read("/etc/nccl.conf");
  }

  std::optional<std::string> find(const std::string& name) const {
    const auto entry = values_.find(name);
    if (entry == values_.end()) return std::nullopt;
    return entry->second;
  }

  const std::map<std::string, std::string>& values() const { return values_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  // A file read earlier wins. False with errno when the file cannot be opened.
  bool read(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return false;
    std::map<std::string, std::string> found;
    std::string whole;
    for (int number = 1; std::getline(file, whole); ++number) {
      const std::string_view line = trim(whole);
      if (line.empty() || line.front() == '#') continue;
      const size_t equals = line.find('=');
      const std::string_view name = trim(line.substr(0, std::min(equals, line.size())));
      if (equals == std::string_view::npos || name.empty() || name.find_first_of(" \t") != std::string_view::npos) {
        complaints_.push_back(fmt::format("{}:{}: not a line NAME=VALUE; ignored", path, number));
        continue;
      }
      found[std::string(name)] = std::string(trim(line.substr(equals + 1)));
    }
    values_.merge(found);
    return true;
  }

  std::map<std::string, std::string> values_;
  std::vector<std::string> complaints_;
};

const ConfigFiles& configFiles() {
  static const auto* files = new ConfigFiles;  // never destroyed: threads of the library may outlive main
  return *files;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || end - stop > 1) return std::nullopt;
  if (stop == end) return value;
  int64_t unit = 0;
  if (*stop == 'K' || *stop == 'k') unit = int64_t{1} << 10;
  if (*stop == 'M' || *stop == 'm') unit = int64_t{1} << 20;
  if (*stop == 'G' || *stop == 'g') unit = int64_t{1} << 30;
  if (unit == 0 || __builtin_mul_overflow(value, unit, &value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> text(const char* name) {
  if (!isHonoured(name)) fail(ncclInternalError, "{} is missing from the table of variables", name);
  if (const char* value = getenv(name); value != nullptr && *value != '\0') return value;
  if (std::string_view(name) == "NCCL_CONF_FILE") return std::nullopt;
  auto value = configFiles().find(name);
  if (value && value->empty()) value.reset();
  return value;
}

std::optional<int64_t> integer(const char* name, int64_t min, int64_t max, const std::string& range) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto number = parseInteger(trim(*value));
  const bool allowed = number && *number >= min && *number <= max;
  if (!allowed && !range.empty()) fail(ncclInvalidArgument, "{}={}: must be {}", name, *value, range);
  if (!allowed)
    fail(ncclInvalidArgument, "{}={}: must be a whole number from {} to {}", name, *value, min, max);
  return number;
}

bool flag(const char* name, bool otherwise) {
  return integer(name, 0, 1).value_or(otherwise ? 1 : 0) != 0;
}

void nameIgnored() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& complaint : configFiles().complaints()) RONDO_WARN("{}", complaint);
    std::set<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
      names.emplace(*entry, strcspn(*entry, "="));
    for (const auto& [name, value] : configFiles().values()) names.insert(name);
    for (const std::string& name : names) {
      if (!name.starts_with("NCCL_") || name.starts_with("NCCL_TESTS_") || isHonoured(name)) continue;
      RONDO_WARN("{} is set but Rondo does not use it: ignored", name);
    }
  });
}

std::string describeAll() {
  std::string result;
  for (const Variable& variable : kVariables) result += fmt::format("{:<20} {}\n", variable.name, variable.meaning);
  return result;
}

}  // namespace rondo::env
