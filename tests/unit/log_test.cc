// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <thread>

#include "src/base/host.h"
#include "tests/unit/child_process.h"

namespace rondo {
namespace {

using test::ChildProcess;
using test::runInChild;
using test::splitLines;

// The log reads its variables once, so each test logs in a child of its own, with an empty home directory.
class LogTest : public testing::Test {
 protected:
  LogTest() {
    char name[] = "/tmp/rondo_log_XXXXXX";
    directory_ = mkdtemp(name);
    setenv("HOME", directory_.c_str(), 1);
    for (const char* variable : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_CONF_FILE"})
      unsetenv(variable);
  }
  ~LogTest() override { EXPECT_EQ(std::system(("rm -rf " + directory_).c_str()), 0); }

  static std::string readFile(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string directory_;
};

TEST_F(LogTest, WritesNothingWithoutTheVariable) {
  const auto result = runInChild([] {
    RONDO_WARN("warned");
    log::info(log::kInit, "told");
  });
  EXPECT_EQ(result.output + result.errors, "");
}

TEST_F(LogTest, WarningNamesTimeProcessThreadDeviceFileAndLine) {
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    log::setThreadDevice(3);
    RONDO_WARN("value {} is {}", 7, "odd");
    log::info(log::kInit, "told");
  });
  const std::regex line(
      R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [\w-]+:\d+:\d+ \[3\] log_test\.cc:\d+ NCCL WARN value 7 is odd\n)");
  EXPECT_TRUE(std::regex_match(result.output, line)) << result.output;
}

TEST_F(LogTest, InfoFollowsTheDefaultSubsystems) {
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "info", 1);
    log::info(log::kInit, "init {}", 1);
    log::info(log::kColl, "coll");
    log::info(log::kEnv | log::kNet, "env");
    log::trace(log::kInit, "trace");
  });
  const std::regex lines(R"([\w-]+:\d+:\d+ \[-\] NCCL INFO init 1\n[\w-]+:\d+:\d+ \[-\] NCCL INFO env\n)");
  EXPECT_TRUE(std::regex_match(result.output, lines)) << result.output;
}

TEST_F(LogTest, SubsystemListAndItsInversion) {
  const auto log3 = [] {
    log::info(log::kInit, "init");
    log::info(log::kColl, "coll");
    log::info(log::kNet, "net");
  };
  const auto listed = runInChild([&] {
    setenv("NCCL_DEBUG", "TRACE", 1);
    setenv("NCCL_DEBUG_SUBSYS", "coll,NET", 1);
    log3();
  });
  EXPECT_EQ(splitLines(listed.output).size(), 2u);
  EXPECT_EQ(listed.output.find("init"), std::string::npos);
  const auto inverted = runInChild([&] {
    setenv("NCCL_DEBUG", "TRACE", 1);
    setenv("NCCL_DEBUG_SUBSYS", "^COLL,NET", 1);
    log3();
  });
  EXPECT_EQ(splitLines(inverted.output).size(), 1u);
  EXPECT_NE(inverted.output.find("init"), std::string::npos);
}

TEST_F(LogTest, VersionLineStandsAlone) {
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "VERSION", 1);
    if (log::enabled(log::Level::kVersion, log::kAll)) log::writeLine(log::Level::kVersion, nullptr, 0, "Rondo 1");
    RONDO_WARN("warned");
  });
  EXPECT_EQ(result.output, "Rondo 1\n");
}

TEST_F(LogTest, FileNamedByHostAndProcess) {
  const auto result = runInChild([&] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", (directory_ + "/100%%.%h.%p").c_str(), 1);
    log::info(log::kInit, "told");
    const std::string path = fmt::format("{}/100%.{}.{}", directory_, hostName(), getpid());
    EXPECT_NE(readFile(path).find("NCCL INFO told\n"), std::string::npos);
  });
  EXPECT_EQ(result.output, "");
}

TEST_F(LogTest, UnwritableFileIsOneWarningThenStandardOutput) {
  const auto result = runInChild([&] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", (directory_ + "/none/file").c_str(), 1);
    log::info(log::kInit, "one");
    log::info(log::kInit, "two");
  });
  EXPECT_EQ(splitLines(result.output).size(), 2u);
  ASSERT_EQ(splitLines(result.errors).size(), 1u) << result.errors;
  EXPECT_NE(result.errors.find("/none/file: open: No such file or directory (ENOENT)"), std::string::npos);
}

TEST_F(LogTest, LevelFromConfigFileAndEnvironmentWins) {
  std::ofstream(directory_ + "/.nccl.conf") << "# level\n NCCL_DEBUG = INFO \n";
  const auto fromFile = runInChild([] { log::info(log::kInit, "told"); });
  EXPECT_EQ(splitLines(fromFile.output).size(), 1u);
  const auto fromEnvironment = runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    log::info(log::kInit, "told");
  });
  EXPECT_EQ(fromEnvironment.output, "");
}

TEST_F(LogTest, SettingsStayUntilReadAgain) {
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "INFO", 1);
    log::info(log::kInit, "one");
    unsetenv("NCCL_DEBUG");
    log::info(log::kInit, "two");
    log::readAgain();
    log::info(log::kInit, "three");
  });
  EXPECT_EQ(splitLines(result.output).size(), 2u) << result.output;
}

TEST_F(LogTest, ManyThreadsAndProcessesShareAFileInWholeLines) {
  const std::string path = directory_ + "/shared";
  constexpr int kProcesses = 4, kThreads = 16, kLines = 50;
  const auto body = [&] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", path.c_str(), 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < kLines; ++i) log::info(log::kInit, "{}", std::string(200, 'x'));
      });
    for (auto& thread : threads) thread.join();
  };
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int p = 0; p < kProcesses; ++p) children.push_back(std::make_unique<ChildProcess>(body));
  for (auto& child : children) EXPECT_EQ(child->wait(), 0);

  const auto lines = splitLines(readFile(path));
  EXPECT_EQ(lines.size(), static_cast<size_t>(kProcesses * kThreads * kLines));
  const std::string end = "NCCL INFO " + std::string(200, 'x');
  EXPECT_TRUE(std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.ends_with(end) && line.size() < end.size() + 300;
  }));
}

}  // namespace
}  // namespace rondo
