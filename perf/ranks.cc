// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "ranks.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "check.h"
#include "sizes.h"

namespace perf {
namespace {

// The first device that NCCL_TESTS_DEVICE asks for, or -1.
int firstDevice(int device_count) {
  const char* text = std::getenv("NCCL_TESTS_DEVICE");
  if (!text || !*text || std::strcmp(text, "-1") == 0) return -1;
  int device = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, device);
  if (error != std::errc() || stop != end || device < 0 || device >= device_count) {
    throw LocalUsageError(fmt::format("NCCL_TESTS_DEVICE={}: must be a device from 0 to {}", text, device_count - 1));
  }
  return device;
}

}  // namespace

std::vector<Rank> placeRanks(const Launcher& launcher, int ranks_per_process, bool* wraps) {
  int device_count = 0;
  PERF_GPU(cudaGetDeviceCount(&device_count));
  if (device_count < 1) throw Failure("no device");
  const int chosen = firstDevice(device_count);
  const int first = chosen >= 0 ? chosen : launcher.localProcess() * ranks_per_process;
  *wraps = first + ranks_per_process > device_count;
  std::vector<Rank> ranks(static_cast<size_t>(ranks_per_process));
  for (int i = 0; i < ranks_per_process; ++i) {
    Rank& rank = ranks[static_cast<size_t>(i)];
    rank.rank = launcher.process() * ranks_per_process + i;
    rank.device = (first + i) % device_count;
    PERF_GPU(cudaSetDevice(rank.device));
    PERF_GPU(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
  }
  return ranks;
}

void initCommunicators(std::span<Rank> ranks, int total_ranks, const ncclUniqueId& id) {
  PERF_NCCL(ncclGroupStart());
  for (Rank& rank : ranks) {
    PERF_GPU(cudaSetDevice(rank.device));
    PERF_NCCL(ncclCommInitRank(&rank.comm, total_ranks, id, rank.rank));
  }
  PERF_NCCL(ncclGroupEnd());
}

double bytesPerRank(uint64_t max_bytes) {
  return 2 * static_cast<double>(max_bytes) + 2 * static_cast<double>(kGuardBytes);
}

void checkMemory(Launcher& launcher, std::span<const Rank> ranks, std::span<const int> ranks_on_memory,
                 uint64_t max_bytes) {
  // Nobody may allocate before everybody has looked.
  launcher.barrier();
  double most_lacking = 0, sharing = 0;
  double least_free = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < ranks.size(); ++i) {
    size_t free_bytes = 0, total_bytes = 0;
    PERF_GPU(cudaSetDevice(ranks[i].device));
    PERF_GPU(cudaMemGetInfo(&free_bytes, &total_bytes));
    const double lacking = ranks_on_memory[i] * bytesPerRank(max_bytes) - static_cast<double>(free_bytes);
    if (lacking <= most_lacking) continue;
    most_lacking = lacking;
    sharing = ranks_on_memory[i];
    least_free = static_cast<double>(free_bytes);
  }
  double greatest[] = {most_lacking, sharing};
  launcher.reduce(greatest, Reduce::Max);
  launcher.reduce({&least_free, 1}, Reduce::Min);
  if (greatest[0] <= 0) return;
  failUsage(
      "--maxbytes {}: needs {} of memory per rank (send and receive buffer), {} for {:.0f} rank(s) on one device or "
      "host, "
      "but only {} are free there; use a smaller -e",
      max_bytes, formatBytes(bytesPerRank(max_bytes)), formatBytes(greatest[1] * bytesPerRank(max_bytes)), greatest[1],
      formatBytes(least_free));
}

void allocateBuffers(std::span<Rank> ranks, uint64_t max_bytes) {
  for (Rank& rank : ranks) {
    PERF_GPU(cudaSetDevice(rank.device));
    PERF_GPU(cudaMalloc(reinterpret_cast<void**>(&rank.send), max_bytes ? max_bytes : 1));
    PERF_GPU(cudaMalloc(reinterpret_cast<void**>(&rank.recv_allocation), max_bytes + 2 * kGuardBytes));
    PERF_GPU(cudaMemsetAsync(rank.send, 0, max_bytes, rank.stream));
    PERF_GPU(cudaMemsetAsync(rank.recv_allocation, 0, max_bytes + 2 * kGuardBytes, rank.stream));
    PERF_GPU(cudaStreamSynchronize(rank.stream));
  }
}

void closeRanks(std::span<Rank> ranks) {
  for (Rank& rank : ranks) PERF_NCCL(ncclCommDestroy(rank.comm));
  for (Rank& rank : ranks) {
    PERF_GPU(cudaSetDevice(rank.device));
    PERF_GPU(cudaFree(rank.send));
    PERF_GPU(cudaFree(rank.recv_allocation));
    PERF_GPU(cudaStreamDestroy(rank.stream));
  }
}

std::string describeRanks(std::span<const Rank> ranks) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  std::string text;
  for (const Rank& rank : ranks) {
    cudaDeviceProp properties;
    char bus_id[32] = "";
    PERF_GPU(cudaGetDeviceProperties(&properties, rank.device));
    PERF_GPU(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), rank.device));
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", host, getpid(), rank.device, bus_id, properties.name,
                        properties.integrated ? 1 : 0);
  }
  return text;
}

}  // namespace perf
