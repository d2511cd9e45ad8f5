// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One rank as a process, by the public API: init, an AllReduce that is checked, destroy; several times. All ranks hold
// the same number of descriptors after the second time and after the last. The unique id goes through a file, unless
// NCCL_COMM_ID is set. Usage: init_rank RANK RANKS ID_FILE [ROUNDS [COUNT]]. Prints "rank N: all right", or the error
// with exit status 1.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rank_calls.h"

namespace {

using namespace rondo::test;

void writeId(const ncclUniqueId& id, const std::string& path) {
  std::ofstream(path + ".new", std::ios::binary).write(id.internal, sizeof(id.internal));
  std::filesystem::rename(path + ".new", path);
}

ncclUniqueId readId(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no unique id in " + path + " after 30 s");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ncclUniqueId id;
  std::ifstream(path, std::ios::binary).read(id.internal, sizeof(id.internal));
  return id;
}

ncclUniqueId shareId(int rank, const std::string& path) {
  ncclUniqueId id;
  const bool fixed = std::getenv("NCCL_COMM_ID") != nullptr;
  if (rank > 0 && !fixed) return readId(path);
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  if (!fixed) writeId(id, path);
  return id;
}

void runRound(int rank, int ranks, size_t count, const std::string& path) {
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, ranks, shareId(rank, path), rank), "ncclCommInitRank");
  checkSum(comm, rank, ranks, count);
  check(ncclCommDestroy(comm), "ncclCommDestroy");
}

void run(int rank, int ranks, const std::string& path, int rounds, size_t count) {
  int descriptors = 0;
  for (int round = 0; round < rounds; ++round) {
    runRound(rank, ranks, count, path + "." + std::to_string(round));
    if (round == 1) descriptors = countDescriptors();
  }
  if (rounds < 2) return;
  // The service thread may be about to close the last ones.
  for (int i = 0; i < 100 && countDescriptors() > descriptors; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (countDescriptors() > descriptors)
    throw std::runtime_error(std::to_string(countDescriptors()) + " descriptors after " + std::to_string(rounds) +
                             " rounds, " + std::to_string(descriptors) + " after 2");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int rank = std::atoi(argv[1]);
  try {
    run(rank, std::atoi(argv[2]), argv[3], argc > 4 ? std::atoi(argv[4]) : 1,
        argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 10000);
    std::printf("rank %d: all right\n", rank);
    return 0;
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", rank, error.what());
    return 1;
  }
}
