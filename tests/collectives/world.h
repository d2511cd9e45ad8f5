// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Ranks as threads of this process, and buffers with canaries around them. Vendor-neutral: everything goes through
// device/runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/runtime/runtime.h"
#include "rondo/rondo.h"

namespace rondo::testing_world {

struct Rank {
  int rank;
  int ranks;
  ncclComm_t comm;
  runtime::Stream stream;
};

// Throws std::runtime_error with the code and ncclGetLastError if result is not ncclSuccess.
void require(ncclResult_t result, const char* what);

// Makes a communicator of 'ranks' threads (rank r on device r modulo the number of devices), runs body on each, destroys
// it. The first exception of any rank is thrown here, after the communicator was aborted.
void runRanks(int ranks, const std::function<void(Rank&)>& body);

// 'bytes' usable bytes at 'offset' past an aligned address, with canaries before and behind.
class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, size_t offset);

  char* data() const { return memory_.data() + kGuard + offset_; }
  void write(const std::vector<char>& content);
  std::vector<char> read() const;
  // "" or what was overwritten.
  std::string checkCanaries() const;

 private:
  static constexpr size_t kGuard = 256;

  size_t bytes_;
  size_t offset_;
  runtime::DeviceMemory memory_;
};

// Sets an environment variable for a scope.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value);
  ~ScopedEnv();
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  std::string name_;
  std::string old_;
  bool wasSet_;
};

}  // namespace rondo::testing_world
