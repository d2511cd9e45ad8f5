// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What differs between the perf programs: one collective, as a stateless object that any thread may use. The main
// function of one that measures the library is `return perf::runProgram(argc, argv, collective)`.
#pragma once

#include <cstddef>
#include <string>

#include "data.h"
#include "gpu.h"
#include "types.h"

namespace perf {

struct Call {
  const void* send;
  void* recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  ncclComm_t comm;
  cudaStream_t stream;
};

// What is known of a collective without calling it. Every rank's send and receive buffer holds `count` elements.
class CollectiveKind {
 public:
  virtual ~CollectiveKind() = default;

  virtual const char* name() const = 0;  // "all_reduce"
  virtual bool hasOp() const = 0;
  virtual bool hasRoot() const = 0;
  virtual double busFactor(int ranks) const = 0;  // bus bandwidth / algorithm bandwidth

  // One period (kPeriod elements) of what every rank must receive.
  virtual void fillExpected(const Recipe& recipe, int root, void* out) const = 0;

  std::string programName() const { return std::string(name()) + "_perf"; }
};

class Collective : public CollectiveKind {
 public:
  virtual ncclResult_t enqueue(const Call& call) const = 0;
};

int runProgram(int argc, char** argv, const Collective& collective);

}  // namespace perf
