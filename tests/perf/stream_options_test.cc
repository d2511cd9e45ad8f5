// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error.h"
#include "fabric_stream_options.h"

namespace perf {
namespace {

StreamOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "fabric_stream");
  return parseStreamOptions(static_cast<int>(arguments.size()), arguments.data());
}

std::string failureOf(const std::vector<const char*>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(StreamOptions, HasDefaults) {
  const StreamOptions options = parse({});
  ASSERT_EQ(options.listCases().size(), 1u);
  const StreamCase what = options.listCases()[0];
  EXPECT_EQ(what.total_bytes, 16u << 20);
  EXPECT_EQ(what.message_bytes, 256u << 10);
  EXPECT_EQ(what.in_flight, 16u);
  EXPECT_EQ(what.operation, StreamOperation::Tagged);
  EXPECT_EQ(options.role, StreamRole::Both);
}

TEST(StreamOptions, CombinesLists) {
  const StreamOptions options =
      parse({"--total", "16M,1G", "--message=64K,1M", "--in-flight", "4,16,2", "--operation", "tagged,write"});
  const std::vector<StreamCase> cases = options.listCases();
  EXPECT_EQ(cases.size(), 24u);
  EXPECT_EQ(options.maxTotal(), uint64_t{1} << 30);
  EXPECT_EQ(options.maxInFlight(), 16u);
  EXPECT_EQ(cases.front().total_bytes, 16u << 20);
  EXPECT_EQ(cases.back().total_bytes, uint64_t{1} << 30);
  EXPECT_EQ(cases.back().message_bytes, 1u << 20);
  EXPECT_EQ(cases.back().operation, StreamOperation::Write);
  EXPECT_NE(options.describe(), parse({"--total", "16M,1G"}).describe());
  EXPECT_FALSE(parse({"--operation", "tagged"}).uses(StreamOperation::Write));
}

TEST(StreamCase, CoversTheBufferExactly) {
  for (const uint64_t total : {1u, 2u, 999u, 1000u, 1001u, 2000u, 4096u}) {
    for (const uint64_t message : {1u, 3u, 1000u, 5000u}) {
      const StreamCase what{total, message, 1, StreamOperation::Tagged};
      uint64_t next = 0;
      for (uint64_t i = 0; i < what.messages(); ++i) {
        ASSERT_EQ(what.offsetOf(i), next);
        ASSERT_GT(what.bytesOf(i), 0u);
        ASSERT_LE(what.bytesOf(i), message);
        next += what.bytesOf(i);
      }
      ASSERT_EQ(next, total);
    }
  }
}

TEST(StreamOptions, ReadsMeetingPoints) {
  const StreamOptions listening = parse({"--listen", "10.0.0.1:5000"});
  EXPECT_EQ(listening.role, StreamRole::Receiver);
  EXPECT_EQ(listening.meeting_point.host, "10.0.0.1");
  EXPECT_EQ(listening.meeting_point.port, "5000");
  const StreamOptions connecting = parse({"--connect", "[::1]:5000"});
  EXPECT_EQ(connecting.role, StreamRole::Sender);
  EXPECT_EQ(connecting.meeting_point.host, "::1");
}

TEST(StreamOptions, NamesFlagValueAndRange) {
  struct Bad {
    std::vector<const char*> arguments;
    const char* flag;
    const char* value;
  };
  const Bad bads[] = {{{"--total", "0"}, "--total", "0"},
                      {{"--total", "16M,,1G"}, "--total", ""},
                      {{"--message", "64Q"}, "--message", "64Q"},
                      {{"--in-flight", "0"}, "--in-flight", "0"},
                      {{"--in-flight", "4,5000"}, "--in-flight", "5000"},
                      {{"--operation", "read"}, "--operation", "read"},
                      {{"--iterations", "0"}, "--iterations", "0"},
                      {{"--warmup", "-1"}, "--warmup", "-1"},
                      {{"--timeout", "x"}, "--timeout", "x"},
                      {{"--listen", "5000"}, "--listen", "5000"},
                      {{"--listen", "host:0"}, "--listen", "0"},
                      {{"--connect", "host:70000"}, "--connect", "70000"},
                      {{"--total", "1T", "--message", "1"}, "--message", "1"}};
  for (const Bad& bad : bads) {
    const std::string text = failureOf(bad.arguments);
    EXPECT_NE(text.find(bad.flag), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(" ") + bad.value), std::string::npos) << text;
    EXPECT_TRUE(text.find("must") != std::string::npos || text.find("allowed") != std::string::npos) << text;
  }
  EXPECT_NE(failureOf({"--listen", "a:1", "--connect", "a:1"}).find("--connect"), std::string::npos);
}

TEST(StreamOptions, HelpTellsColumns) {
  const StreamOptions options = parse({"--help"});
  ASSERT_TRUE(options.help);
  for (const char* word : {"GB/s", "#wrong", "flight", "tagged", "write", "--listen"}) {
    EXPECT_NE(options.help_text.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace perf
