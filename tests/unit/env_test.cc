// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "src/base/error.h"
#include "src/base/log.h"
#include "tests/unit/child_process.h"

namespace rondo {
namespace {

using test::runInChild;
using test::splitLines;

// Config files are read once per process: everything that reads variables runs in a child.
class EnvTest : public testing::Test {
 protected:
  EnvTest() {
    char name[] = "/tmp/rondo_env_XXXXXX";
    directory_ = mkdtemp(name);
    setenv("HOME", directory_.c_str(), 1);
    for (const char* variable : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_CONF_FILE", "NCCL_STEPS", "NCCL_BUFFSIZE"})
      unsetenv(variable);
  }
  ~EnvTest() override { EXPECT_EQ(std::system(("rm -rf " + directory_).c_str()), 0); }

  std::string directory_;
};

std::string errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidArgument);
    return error.text();
  }
  return "no error";
}

TEST_F(EnvTest, EmptyCountsAsNotSet) {
  runInChild([] {
    EXPECT_EQ(env::text("NCCL_STEPS"), std::nullopt);
    setenv("NCCL_STEPS", "", 1);
    EXPECT_EQ(env::text("NCCL_STEPS"), std::nullopt);
    setenv("NCCL_STEPS", "8", 1);
    EXPECT_EQ(env::text("NCCL_STEPS"), "8");
    EXPECT_EQ(env::integer("NCCL_STEPS", 1, 64), 8);
  });
}

TEST_F(EnvTest, NumbersWithUnits) {
  runInChild([] {
    const std::pair<const char*, int64_t> cases[] = {{"0", 0},     {"17", 17},      {" 5 ", 5},
                                                     {"4K", 4096}, {"2m", 2 << 20}, {"1G", 1 << 30}};
    for (const auto& [text, value] : cases) {
      setenv("NCCL_BUFFSIZE", text, 1);
      EXPECT_EQ(env::integer("NCCL_BUFFSIZE", 0, int64_t{1} << 40), value) << text;
    }
  });
}

TEST_F(EnvTest, BadNumbersNameVariableValueAndRange) {
  runInChild([] {
    for (const char* text : {"x", "1x", "1.5", "-1", "65", "0x10", "1KK", "99999999999999999999", "9999999999G", "K"}) {
      setenv("NCCL_STEPS", text, 1);
      EXPECT_EQ(errorOf([] { env::integer("NCCL_STEPS", 0, 64); }),
                std::string("NCCL_STEPS=") + text + ": must be a whole number from 0 to 64");
    }
  });
}

TEST_F(EnvTest, FlagIsZeroOrOne) {
  runInChild([] {
    EXPECT_TRUE(env::flag("NCCL_COMM_BLOCKING", true));
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    EXPECT_FALSE(env::flag("NCCL_COMM_BLOCKING", true));
    setenv("NCCL_COMM_BLOCKING", "2", 1);
    EXPECT_NE(errorOf([] { env::flag("NCCL_COMM_BLOCKING", true); }), "no error");
  });
}

TEST_F(EnvTest, NameOutsideTheTableIsAFault) {
  runInChild([] { EXPECT_THROW(env::text("NCCL_NO_SUCH"), Error); });
}

TEST_F(EnvTest, EnvironmentThenChosenFile) {
  std::ofstream(directory_ + "/.nccl.conf") << "NCCL_STEPS=2\n";
  std::ofstream(directory_ + "/other") << "NCCL_STEPS=4\nNCCL_BUFFSIZE=1M\n";
  runInChild([] { EXPECT_EQ(env::text("NCCL_STEPS"), "2"); });
  runInChild([] {
    setenv("NCCL_CONF_FILE", "~/other", 1);
    EXPECT_EQ(env::text("NCCL_STEPS"), "4");
    setenv("NCCL_STEPS", "16", 1);
    EXPECT_EQ(env::text("NCCL_STEPS"), "16");
    EXPECT_EQ(env::integer("NCCL_BUFFSIZE", 0, 1 << 30), 1 << 20);
  });
}

TEST_F(EnvTest, BadLinesAreNamedAndTheRestCounts) {
  std::ofstream(directory_ + "/.nccl.conf") << "nonsense\n=5\n\n# fine\r\nNCCL_STEPS=4\r\ntwo words=1\n";
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    EXPECT_EQ(env::text("NCCL_STEPS"), "4");
    env::nameIgnored();
  });
  size_t complaints = 0;
  for (const std::string& line : splitLines(result.output))
    complaints += line.find("not a line NAME=VALUE") != std::string::npos;
  EXPECT_EQ(complaints, 3u) << result.output;
  EXPECT_NE(result.output.find("/.nccl.conf:1:"), std::string::npos);
  EXPECT_NE(result.output.find("/.nccl.conf:6:"), std::string::npos);
}

TEST_F(EnvTest, MissingChosenFileIsNamed) {
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    setenv("NCCL_CONF_FILE", "/no/such/file", 1);
    env::nameIgnored();
  });
  EXPECT_NE(result.output.find("NCCL_CONF_FILE=/no/such/file: No such file or directory (ENOENT)"), std::string::npos);
}

TEST_F(EnvTest, IgnoredVariablesAreNamedOnce) {
  std::ofstream(directory_ + "/.nccl.conf") << "NCCL_IB_TIMEOUT=20\n";
  const auto result = runInChild([] {
    setenv("NCCL_DEBUG", "WARN", 1);
    setenv("NCCL_STEPZ", "8", 1);
    setenv("NCCL_TESTS_DEVICE", "0", 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { env::nameIgnored(); });
    for (auto& thread : threads) thread.join();
  });
  size_t named = 0;
  for (const std::string& line : splitLines(result.output))
    named += line.find("NCCL_STEPZ is set") != std::string::npos;
  EXPECT_EQ(named, 1u) << result.output;
  EXPECT_NE(result.output.find("NCCL_IB_TIMEOUT"), std::string::npos);
  EXPECT_EQ(result.output.find("NCCL_TESTS"), std::string::npos);
  EXPECT_EQ(result.output.find("NCCL_DEBUG is set"), std::string::npos);
}

TEST_F(EnvTest, TableDescribesEachVariable) {
  const std::string table = env::describeAll();
  EXPECT_NE(table.find("\nNCCL_STEPS "), std::string::npos);
  for (const std::string& line : splitLines(table)) EXPECT_GT(line.size(), 30u) << line;
}

}  // namespace
}  // namespace rondo
