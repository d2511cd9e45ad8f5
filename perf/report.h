// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a run reports: its description, lines and verdict. Plain data; made by every process, printed by the first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"

namespace perf {

struct Case {
  TypeInfo type;
  OpInfo op;
  int root = -1;
  uint64_t count = 0;

  uint64_t bytes() const { return count * type.bytes; }
};

// One half of a line: out-of-place or in-place.
struct Measurement {
  bool timed = false;
  double time_us = 0;  // of one operation
  double cpu_us = 0;   // of its launch alone
  double alg_gbps = 0;
  double bus_gbps = 0;
  bool checked = false;
  double wrong = 0;
};

struct Line {
  Case what;
  Measurement out_of_place;
  Measurement in_place;
};

struct DeviceInfo {
  int rank = 0;
  std::string host;
  std::string pid;
  std::string device;
  std::string bus_id;
  std::string name;
  bool host_memory = false;  // the device has none of its own
};

struct RunInfo {
  std::string program;  // "all_reduce_perf"
  int ranks = 1;
  std::string mpi_library;  // when MPI is measured; empty: the collective library, with these versions
  int headers_version = 0;
  int library_version = 0;
  bool devices_shared = false;
  std::vector<DeviceInfo> devices;
};

struct Verdict {
  double wrong = 0;
  bool checked = false;
  bool timed = false;
  double bus_gbps = 0;       // average
  double required_gbps = 0;  // NCCL_TESTS_MIN_BW, 0: none
  std::vector<std::string> errors;

  bool resultsOk() const { return wrong == 0; }
  bool fastEnough() const { return required_gbps <= 0 || bus_gbps >= 0.9 * required_gbps; }
  bool ok() const { return resultsOk() && fastEnough() && errors.empty(); }
};

// "2026-01-31 12:00:00", local time.
std::string formatNow();

}  // namespace perf
