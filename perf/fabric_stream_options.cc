// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "fabric_stream_options.h"

#include <algorithm>
#include <functional>

#include "error.h"
#include "flags.h"
#include "sizes.h"

namespace perf {
namespace {

constexpr int kMaxInFlight = 4096;
// Message numbers travel as tags and as remote data, of which providers promise 4 bytes; one bit marks control
// messages.
constexpr uint64_t kMaxMessages = uint64_t{1} << 30;

constexpr const char* kFooter = R"(
Two processes of this host, or one here (--listen) and one elsewhere (--connect) with otherwise equal flags: the sender
streams a buffer into the receiver's buffer, message by message, straight from one into the other. A flag with a LIST
takes several values with commas; every combination is a line. Sizes are powers of 1024: 64K, 16M, 1.5G.

Operations:
  tagged   tagged send; the receiver has posted the receive before the sender may send
  write    remote write with 4 bytes of remote data, which tell the receiver that the message is there

Columns:
  size     bytes of the buffer            message    bytes of one operation
  flight   operations that may be under way at a time: so many receives are posted ahead, or writes allowed
  time     microseconds from the first message until the sender knows that the receiver has everything: average
  GB/s     size / time, in 1e9 bytes/s: to compare with the algbw of broadcast_perf
  #wrong   wrong 8-byte words of one transfer before the timed ones

Exit status: 0 passed, 1 wrong contents or a failed call, 2 usage (also a provider that is not there).)";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

template <class Value>
Flags::Take takeList(std::vector<Value>& target, std::function<Value(const std::string&, const std::string&)> read) {
  return [&target, read](const std::string& flag, const std::string& text) {
    target.clear();
    for (const std::string& part : split(text)) target.push_back(read(flag, part));
  };
}

uint64_t readSize(const std::string& flag, const std::string& text) {
  const uint64_t bytes = parseBytes(flag, text);
  if (bytes == 0) failUsage("{} {}: must be at least 1 byte", flag, text);
  return bytes;
}

StreamOperation readOperation(const std::string& flag, const std::string& text) {
  if (text == "tagged") return StreamOperation::Tagged;
  if (text == "write") return StreamOperation::Write;
  failUsage("{} {}: unknown; allowed are tagged, write or both with a comma", flag, text);
}

HostPort readHostPort(const std::string& flag, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) failUsage("{} {}: must be host:port", flag, text);
  HostPort result{text.substr(0, colon), text.substr(colon + 1)};
  parseInteger(flag + " " + text + ": port", result.port, 1, 65535);
  if (result.host.front() == '[' && result.host.back() == ']') result.host = result.host.substr(1, colon - 2);
  return result;
}

void addFlags(Flags& flags, StreamOptions& options) {
  flags.addText("--provider", options.provider, "NAME",
                "libfabric provider: tcp (tcp;ofi_rxm), net, shm, sockets, verbs;ofi_rxm ... (default tcp)");
  flags.add("--total", takeList<uint64_t>(options.totals, readSize), "LIST", "bytes of the buffer (default 16M)");
  flags.add("--message", takeList<uint64_t>(options.messages, readSize), "LIST",
            "bytes of one operation (default 256K)");
  const auto read_number = [](const std::string& flag, const std::string& text) {
    return static_cast<uint64_t>(parseInteger(flag, text, 1, kMaxInFlight));
  };
  flags.add("--in-flight", takeList<uint64_t>(options.in_flight, read_number), "LIST",
            "operations under way at a time (default 16)");
  flags.add("--operation", takeList<StreamOperation>(options.operations, readOperation), "LIST",
            "tagged, write (default tagged)");
  flags.addInteger("--iterations", options.iterations, 1, 1'000'000, "timed transfers of the buffer (default 20)");
  flags.addInteger("--warmup", options.warmup, 0, 1'000'000, "transfers before them (default 2)");
  flags.addInteger("--timeout", options.timeout_s, 1, 86400, "seconds without any progress that end it (default 60)");
  const auto take_meeting_point = [&options](StreamRole role) {
    return [&options, role](const std::string& flag, const std::string& text) {
      if (options.role != StreamRole::Both && options.role != role)
        failUsage("{} {}: not with the other one", flag, text);
      options.role = role;
      options.meeting_point = readHostPort(flag, text);
    };
  };
  flags.add("--listen", take_meeting_point(StreamRole::Receiver), "HOST:PORT", "be the receiver, wait for the sender");
  flags.add("--connect", take_meeting_point(StreamRole::Sender), "HOST:PORT", "be the sender, for the receiver there");
  flags.addText("--json", options.json_path, "FILE",
                "write the results as JSON; an existing file is kept, FILE.1 and so on is written");
}

}  // namespace

const char* nameOf(StreamOperation operation) {
  switch (operation) {
    case StreamOperation::Tagged:
      return "tagged";
    case StreamOperation::Write:
      return "write";
  }
  return "?";
}

uint64_t StreamOptions::maxTotal() const {
  return *std::max_element(totals.begin(), totals.end());
}

uint64_t StreamOptions::maxInFlight() const {
  return *std::max_element(in_flight.begin(), in_flight.end());
}

bool StreamOptions::uses(StreamOperation operation) const {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

std::vector<StreamCase> StreamOptions::listCases() const {
  std::vector<StreamCase> cases;
  for (const uint64_t total : totals) {
    for (const StreamOperation operation : operations) {
      for (const uint64_t message : messages) {
        for (const uint64_t number : in_flight) cases.push_back({total, message, number, operation});
      }
    }
  }
  return cases;
}

std::string StreamOptions::describe() const {
  std::string text = fmt::format("{} iterations, {} warmup", iterations, warmup);
  for (const StreamCase& each : listCases()) {
    text += fmt::format(", {} {} {} {}", each.total_bytes, each.message_bytes, each.in_flight, nameOf(each.operation));
  }
  return text;
}

StreamOptions parseStreamOptions(int argc, const char* const* argv) {
  StreamOptions options;
  options.arguments.assign(argv, argv + argc);
  CLI::App app("Measures how fast a libfabric provider carries bytes from one process to another.", "fabric_stream");
  app.footer(kFooter);
  Flags flags(app);
  addFlags(flags, options);
  options.help = !readCommandLine(app, argc, argv, &options.help_text);
  if (options.help) return options;
  for (const StreamCase& each : options.listCases()) {
    if (each.messages() <= kMaxMessages) continue;
    failUsage("--message {}: makes {} messages of --total {}, at most {} are allowed", each.message_bytes,
              each.messages(), each.total_bytes, kMaxMessages);
  }
  return options;
}

}  // namespace perf
