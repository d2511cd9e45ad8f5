// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Strangers at every port that Rondo listens on, while eight ranks, each a process with 256 descriptors, make
// communicators and use them. Usage: strangers CALLS, the number of connections by strangers (crowd.h has the kinds).
// With RONDO_TEST_LONG set it is 15000, so that 10000 reach a port during init whatever the timing.
//   at the id        40 % at the port of the unique id, to which the ranks come one by one
//   at the ranks     40 % at the ports on which the ranks wait for each other's control connections
//   during traffic   20 % at the port of an id that nobody uses, in a process whose collectives run
// Init must succeed and collectives be right, during and after; no rank may hold half of its descriptors at any time;
// warnings are about strangers, and few. Prints what it found, at the end "all right"; or the fault, with exit status 1.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "crowd.h"
#include "guarded_rank.h"
#include "rank_calls.h"

namespace {

using namespace rondo::test;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 8;
constexpr int kDescriptors = 256;
// Of each of the ten listeners: ten lines, one when it closes, and one per ten seconds.
constexpr int kMostWarnings = 10 * 14;
constexpr char kDone = 'd';
constexpr char kMore = 'm';
constexpr char kEnough = 'e';

[[noreturn]] void fault(const std::string& text) { throw std::runtime_error(text); }

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void setSoftLimit(rlim_t wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fault("setrlimit");
}

// ---- A rank ----

struct Gatherer {
  const Line* line;
  int rank;
};

int gatherOverLine(void* context, void* all, size_t bytesPerRank) {
  const auto& own = *static_cast<Gatherer*>(context);
  try {
    own.line->tell(bytesPerRank);
    own.line->tell(static_cast<char*>(all) + static_cast<size_t>(own.rank) * bytesPerRank, bytesPerRank);
    own.line->hear(all, bytesPerRank * kRanks);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

void runRank(const Line& line, int rank) {
  setSoftLimit(kDescriptors);
  ncclUniqueId id;
  if (rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    line.tell(id);
  }
  id = line.hear<ncclUniqueId>();
  ncclComm_t first = nullptr, second = nullptr;
  check(ncclCommInitRank(&first, kRanks, id, rank), "ncclCommInitRank");
  line.tell(kDone);
  checkSum(first, rank, kRanks, 100000);
  line.tell(kDone);

  Gatherer gatherer{&line, rank};
  const rondoBootstrap_t bootstrap = {sizeof(rondoBootstrap_t), &gatherer, gatherOverLine, nullptr};
  check(rondoCommInitWith(&second, kRanks, rank, &bootstrap, nullptr), "rondoCommInitWith");
  line.tell(kDone);
  checkSum(second, rank, kRanks, 100000);
  if (rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  line.tell(kDone);

  while (line.hear<char>() == kMore) {
    for (const ncclComm_t comm : {first, second}) checkSum(comm, rank, kRanks, 100000);
    line.tell(kDone);
  }
  check(ncclCommDestroy(first), "ncclCommDestroy");
  check(ncclCommDestroy(second), "ncclCommDestroy");
  line.tell(kDone);
}

// ---- The strangers ----

struct Count {
  int called;
  int refused;
};

// Says kMore after each eighth of its calls but the last, then kDone, and keeps its connections until it hears kEnough.
void runCrowd(const Line& line, const std::vector<uint16_t>& ports, int calls) {
  setSoftLimit(RLIM_INFINITY);
  Crowd crowd(ports);
  for (int eighth = 1; eighth <= 8; ++eighth) {
    while (crowd.called() < calls * eighth / 8) crowd.call();
    line.tell(eighth < 8 ? kMore : kDone);
  }
  line.tell(Count{crowd.called(), crowd.refused()});
  line.hear<char>();
  line.tell(kDone);
}

// ---- Who directs them ----

class Director {
 public:
  Director() {
    for (int rank = 0; rank < kRanks; ++rank)
      ranks_.push_back(std::make_unique<GuardedRank>("rank " + std::to_string(rank),
                                                     [rank](const Line& line) { runRank(line, rank); }));
  }

  void meetAtId(int calls) {
    const auto id = ranks_[0]->line().hear<ncclUniqueId>();
    startCrowd(listeningPorts(ranks_[0]->pid()), 1, calls);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank > 0) hear<char>(*crowd_);  // one more eighth
      ranks_[static_cast<size_t>(rank)]->line().tell(id);
    }
    const auto allCame = Clock::now();
    hearAll();
    const double time = secondsSince(allCame);
    hearAll();  // the collective is right
    endCrowd("at the id", time, calls);
  }

  void meetAtRanks(int calls) {
    std::vector<char> all;
    std::vector<uint16_t> ports;
    size_t bytes = 0;
    for (const auto& rank : ranks_) {
      bytes = rank->line().hear<size_t>();
      all.resize(all.size() + bytes);
      rank->line().hear(all.data() + all.size() - bytes, bytes);
      const auto own = listeningPorts(rank->pid());
      ports.insert(ports.end(), own.begin(), own.end());
    }
    startCrowd(ports, kRanks, calls);
    for (int eighth = 1; eighth <= 4; ++eighth) hear<char>(*crowd_);
    for (int rank = 0; rank < kRanks - 1; ++rank)
      ranks_[static_cast<size_t>(rank)]->line().tell(all.data(), all.size());
    for (int eighth = 5; eighth <= 7; ++eighth) hear<char>(*crowd_);
    ranks_.back()->line().tell(all.data(), all.size());
    const auto allKnow = Clock::now();
    hearAll();
    const double time = secondsSince(allKnow);
    hearAll();
    endCrowd("at the ranks", time, calls);
  }

  void traffic(int calls) {
    startCrowd(listeningPorts(ranks_[0]->pid()), 1, calls);
    int rounds = 0;
    const auto start = Clock::now();
    const auto runRound = [&] {
      for (const auto& rank : ranks_) rank->line().tell(kMore);
      hearAll();
      ++rounds;
    };
    for (char said = kMore; said == kMore; runRound())
      while (crowd_->line().hasNews() && said == kMore) said = hear<char>(*crowd_);
    runRound();
    const double time = secondsSince(start);
    const Count count = dismissCrowd();
    runRound();
    std::printf("during traffic: %d calls, %d rounds of two AllReduce in %.2f s\n", count.called, rounds, time);
    if (count.refused > 0) fault("an id that nobody has used refuses");
  }

  void finish() {
    for (const auto& rank : ranks_) rank->line().tell(kEnough);
    for (const auto& rank : ranks_) rank->finish();
    std::printf("connections of strangers during init: %d\n", reached_);
    std::printf("descriptors of a rank: at most %d of %d\n", descriptors_, kDescriptors);
    if (descriptors_ >= kDescriptors / 2) fault("strangers have taken too many descriptors");
    if (descriptors_ < 20) fault("descriptors were not counted");
  }

 private:
  void startCrowd(const std::vector<uint16_t>& ports, size_t expected, int calls) {
    if (ports.size() != expected)
      fault(std::to_string(ports.size()) + " listening ports, expected " + std::to_string(expected));
    crowd_ = std::make_unique<GuardedRank>("strangers",
                                           [&](const Line& line) { runCrowd(line, ports, calls); });
  }

  Count dismissCrowd() {
    const auto count = crowd_->line().hear<Count>();
    crowd_->line().tell(kEnough);
    crowd_->finish();
    crowd_.reset();
    return count;
  }

  void endCrowd(const char* where, double time, int calls) {
    for (char said = kMore; said == kMore;) said = hear<char>(*crowd_);
    const Count count = dismissCrowd();
    std::printf("%s: %d calls, %d of them when the port was closed again; init took %.2f s after the last rank came\n",
                where, count.called, count.refused, time);
    reached_ += count.called - count.refused;
    if (count.refused > calls / 2) fault("strangers were refused while ranks were awaited");
  }

  // Waits for a message, and meanwhile looks at the descriptors of all ranks.
  template <class Value>
  Value hear(const GuardedRank& from) {
    for (const auto end = Clock::now() + std::chrono::seconds(60); !from.line().hasNews() && Clock::now() < end;
         usleep(2000))
      for (const auto& rank : ranks_) descriptors_ = std::max(descriptors_, rank->descriptors());
    return from.line().hear<Value>();
  }

  void hearAll() {
    for (const auto& rank : ranks_) hear<char>(*rank);
  }

  std::vector<std::unique_ptr<GuardedRank>> ranks_;
  std::unique_ptr<GuardedRank> crowd_;
  int descriptors_ = 0;  // the most that a rank has held
  int reached_ = 0;
};

void checkWarnings(const std::string& folder) {
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line); ++lines) {
      const bool known = line.find("dropped a connection") != line.npos || line.find("more warnings like") != line.npos;
      if (!known) fault("a warning that is not about strangers: " + line);
    }
  }
  std::printf("warnings: %d\n", lines);
  if (lines == 0) fault("no warning tells of strangers");
  if (lines > kMostWarnings) fault("too many warnings: at most " + std::to_string(kMostWarnings));
}

void run(int calls, const std::string& folder) {
  setenv("NCCL_DEBUG", "WARN", 1);
  setenv("NCCL_DEBUG_FILE", (folder + "/%p").c_str(), 1);
  setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
  setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
  setenv("RONDO_INIT_TIMEOUT", "30", 1);
  unsetenv("NCCL_COMM_ID");
  Director director;
  director.meetAtId(calls * 4 / 10);
  director.meetAtRanks(calls * 4 / 10);
  director.traffic(calls * 2 / 10);
  director.finish();
  checkWarnings(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const bool isLong = std::getenv("RONDO_TEST_LONG") != nullptr;
  const int calls = argc > 1 && !isLong ? std::atoi(argv[1]) : 15000;
  char folder[] = "/tmp/rondo-strangers-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 2;
  int status = 0;
  try {
    run(calls, folder);
    std::puts("all right");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    status = 1;
  }
  std::filesystem::remove_all(folder);
  return status;
}
