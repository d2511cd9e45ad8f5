// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "options.h"

#include <gtest/gtest.h>

#include <string>

#include "check.h"
#include "sizes.h"

namespace perf {
namespace {

std::string failureOf(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv = {"all_reduce_perf"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  try {
    parseOptions("all_reduce_perf", static_cast<int>(argv.size()), argv.data());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "all_reduce_perf");
  return parseOptions("all_reduce_perf", static_cast<int>(arguments.size()), arguments.data());
}

TEST(Sizes, ReadsEveryForm) {
  EXPECT_EQ(parseBytes("-b", "8"), 8u);
  EXPECT_EQ(parseBytes("-b", "0"), 0u);
  for (const char* text : {"1K", "1k", "1KiB", "1kb", "1024", "1024B"})
    EXPECT_EQ(parseBytes("-b", text), 1024u) << text;
  EXPECT_EQ(parseBytes("-b", "1.5G"), 1610612736u);
  EXPECT_EQ(parseBytes("-b", "5G"), 5368709120u);
  EXPECT_EQ(parseBytes("-b", "17179869184"), 17179869184u);
  EXPECT_EQ(parseBytes("-b", "9223372036854775807"), 9223372036854775807u);
}

TEST(Sizes, RefusesWhatIsNoSize) {
  for (const char* text : {"", ".", "K", "-1", "1Q", "1KK", "1 K", "1.3K", "0x10", "1e3", "1.0.0", "nan",
                           "9223372036854775808", "8388608T", "99999999999999999999999999999999999999999999"}) {
    try {
      parseBytes("--minbytes", text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("--minbytes"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("allowed"), std::string::npos);
    }
  }
}

TEST(Sizes, ListsSteps) {
  EXPECT_EQ(listSizes({8, 64, 1, 2}), (std::vector<uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(listSizes({8, 63, 1, 2}), (std::vector<uint64_t>{8, 16, 32}));
  EXPECT_EQ(listSizes({0, 4, 1, 2}), (std::vector<uint64_t>{0, 1, 2, 4}));
  EXPECT_EQ(listSizes({5, 12, 3, 0}), (std::vector<uint64_t>{5, 8, 11}));
  EXPECT_EQ(listSizes({7, 7, 3, 0}), (std::vector<uint64_t>{7}));
  EXPECT_EQ(countSizes({5, 12, 3, 0}), 3u);
}

TEST(Sizes, EndsNearTheLargestNumber) {
  const uint64_t top = 9223372036854775807u;
  EXPECT_EQ(listSizes({top - 1, top, 1, 0}), (std::vector<uint64_t>{top - 1, top}));
  EXPECT_EQ(listSizes({top / 2, top, 1, 3}), (std::vector<uint64_t>{top / 2}));
  EXPECT_EQ(listSizes({1, top, 1, 2}).size(), 63u);
}

TEST(Options, HasDefaultsOfNcclTests) {
  const Options options = parse({});
  EXPECT_EQ(options.sizes.min_bytes, 33554432u);
  EXPECT_EQ(options.sizes.max_bytes, 33554432u);
  EXPECT_EQ(options.iters, 20);
  EXPECT_EQ(options.warmup_iters, 1);
  EXPECT_EQ(options.types.at(0).type, ncclFloat32);
  EXPECT_EQ(options.ops.at(0).op, Op::Sum);
}

TEST(Options, ReadsShortAndLongForms) {
  const Options options = parse({"-b",  "8",   "--maxbytes=1G",
                                 "-f2", "-n",  "5",
                                 "-d",  "all", "--op",
                                 "all", "-r",  "-1",
                                 "-c",  "3",   "-z",
                                 "1",   "-a",  "3",
                                 "-p",  "1",   "-t",
                                 "2",   "-g",  "4",
                                 "-n",  "7"});
  EXPECT_EQ(options.sizes.max_bytes, uint64_t{1} << 30);
  EXPECT_EQ(options.sizes.factor, 2u);
  EXPECT_EQ(options.iters, 7) << "the last of a repeated flag counts";
  EXPECT_EQ(options.types.size(), 10u);
  EXPECT_EQ(options.ops.size(), 5u);
  EXPECT_EQ(options.root, kAllRoots);
  EXPECT_EQ(options.blocking, Blocking::WaitAndBarrier);
  EXPECT_EQ(options.time_over, TimeOver::Max);
  EXPECT_TRUE(options.parallel_init);
  EXPECT_EQ(parse({"--root", "all"}).root, kAllRoots);
  EXPECT_EQ(parse({}).bootstrap, Bootstrap::Socket);
  EXPECT_EQ(parse({"--bootstrap", "mpi"}).bootstrap, Bootstrap::Mpi);
  EXPECT_EQ(parse({"--bootstrap=socket", "-g", "2"}).bootstrap, Bootstrap::Socket);
}

TEST(Options, NamesFlagValueAndRange) {
  struct Bad {
    std::vector<const char*> arguments;
    const char* flag;
    const char* value;
  };
  const Bad bads[] = {{{"-f", "1"}, "--stepfactor", "1"},
                      {{"-i", "0"}, "--stepbytes", "0"},
                      {{"-n", "-3"}, "--iters", "-3"},
                      {{"-m", "0"}, "--agg_iters", "0"},
                      {{"-z", "4"}, "--blocking", "4"},
                      {{"-a", "x"}, "--average", "x"},
                      {{"-d", "fp32"}, "--datatype", "fp32"},
                      {{"-o", "mulsum"}, "--op", "mulsum"},
                      {{"-r", "-2"}, "--root", "-2"},
                      {{"-t", "0"}, "--nthreads", "0"},
                      {{"--bootstrap", "pmix"}, "--bootstrap", "pmix"},
                      {{"--bootstrap", "mpi", "-g", "2"}, "--ngpus", "2"},
                      {{"--bootstrap", "mpi", "-t", "3"}, "--nthreads", "3"},
                      {{"-b", "8", "-e", "4"}, "--minbytes", "8"},
                      {{"-b", "0", "-e", "1T", "-i", "1"}, "--stepbytes", "1"}};
  for (const Bad& bad : bads) {
    const std::string text = failureOf(bad.arguments);
    EXPECT_NE(text.find(bad.flag), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(" ") + bad.value), std::string::npos) << text;
    EXPECT_TRUE(text.find("must") != std::string::npos || text.find("allowed") != std::string::npos) << text;
  }
}

TEST(Options, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(failureOf({"--bogus"}).find("--bogus"), std::string::npos);
  EXPECT_NE(failureOf({"stray"}).find("stray"), std::string::npos);
  EXPECT_NE(failureOf({"-b"}).find("minbytes"), std::string::npos);
}

TEST(Options, HelpTellsColumns) {
  const Options options = parse({"-h"});
  ASSERT_TRUE(options.help);
  for (const char* word : {"algbw", "busbw", "#wrong", "out-of-place", "NCCL_TESTS_MIN_BW", "RONDO_PERF_RANKS"}) {
    EXPECT_NE(options.help_text.find(word), std::string::npos) << word;
  }
}

TEST(Options, OfMpiHaveNoDevicesAndGroups) {
  const auto parse_mpi = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "mpi_broadcast_perf");
    return parseOptions("mpi_broadcast_perf", static_cast<int>(arguments.size()), arguments.data(), Measured::Mpi);
  };
  EXPECT_EQ(parse_mpi({"-b", "8", "-e", "1G", "-f", "2", "-r", "all"}).root, kAllRoots);
  for (const char* flag : {"-g", "-t", "-p", "-m", "-C"}) {
    EXPECT_NO_THROW(parse({flag, "1"})) << flag;
    EXPECT_THROW(parse_mpi({flag, "1"}), UsageError) << flag;
  }
  EXPECT_NE(parse_mpi({"-h"}).help_text.find("Measures the MPI library"), std::string::npos);
}

}  // namespace
}  // namespace perf
