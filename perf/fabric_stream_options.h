// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The command line of fabric_stream, and the cases it makes. Read once, constant afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perf {

enum class StreamOperation { Tagged, Write };
const char* nameOf(StreamOperation operation);

// One line of the table.
struct StreamCase {
  uint64_t total_bytes = 0;
  uint64_t message_bytes = 0;
  uint64_t in_flight = 0;
  StreamOperation operation = StreamOperation::Tagged;

  // The last message may be shorter than the others.
  uint64_t messages() const { return (total_bytes + message_bytes - 1) / message_bytes; }
  uint64_t offsetOf(uint64_t message) const { return message * message_bytes; }
  uint64_t bytesOf(uint64_t message) const {
    return message + 1 < messages() ? message_bytes : total_bytes - offsetOf(message);
  }
};

struct HostPort {
  std::string host;
  std::string port;
};

enum class StreamRole { Both, Receiver, Sender };

struct StreamOptions {
  std::string provider = "tcp";
  std::vector<uint64_t> totals = {16 << 20};
  std::vector<uint64_t> messages = {256 << 10};
  std::vector<uint64_t> in_flight = {16};
  std::vector<StreamOperation> operations = {StreamOperation::Tagged};
  int iterations = 20;
  int warmup = 2;
  int timeout_s = 60;
  StreamRole role = StreamRole::Both;
  HostPort meeting_point;  // with --listen and --connect
  std::string json_path;   // empty: none
  std::vector<std::string> arguments;

  bool help = false;
  std::string help_text;

  uint64_t maxTotal() const;
  uint64_t maxInFlight() const;
  bool uses(StreamOperation operation) const;
  std::vector<StreamCase> listCases() const;
  // What the two sides must agree on.
  std::string describe() const;
};

// Throws UsageError that names flag, value and allowed range.
StreamOptions parseStreamOptions(int argc, const char* const* argv);

}  // namespace perf
