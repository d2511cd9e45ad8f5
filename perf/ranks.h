// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One rank of this process: device, stream, communicator, buffers. Made and closed by the main thread (the communicator
// by the rank's thread with --parallel_init), used in between by the rank's thread alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checked_memory.h"
#include "gpu.h"
#include "launcher.h"

namespace perf {

struct Rank {
  int rank = 0;  // in the communicator
  int device = 0;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  char* send = nullptr;
  char* recv_allocation = nullptr;

  char* recv() const { return recv_allocation + kGuardBytes; }
};

// Which devices a process's ranks use: NCCL_TESTS_DEVICE or the place on the host, modulo the number of devices. *wraps
// says that there are fewer devices than that takes.
std::vector<Rank> placeRanks(const Launcher& launcher, int ranks_per_process, bool* wraps);

// In one group. The ranks may be a part of the process's.
void initCommunicators(std::span<Rank> ranks, int total_ranks, const ncclUniqueId& id);

// Bytes of device memory that one rank needs for messages of up to max_bytes.
double bytesPerRank(uint64_t max_bytes);

// Throws UsageError on every process when there is not enough memory somewhere. `ranks_on_memory` has one entry for
// each of `ranks`: how many ranks, also other processes', draw on the same memory.
void checkMemory(Launcher& launcher, std::span<const Rank> ranks, std::span<const int> ranks_on_memory,
                 uint64_t max_bytes);

void allocateBuffers(std::span<Rank> ranks, uint64_t max_bytes);
void closeRanks(std::span<Rank> ranks);

// "host\tpid\tdevice\tbus id\tdevice name\t1 if its memory is the host's" of each rank, one per line.
std::string describeRanks(std::span<const Rank> ranks);

}  // namespace perf
