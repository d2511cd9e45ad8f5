// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "mpi_types.h"

#include "error.h"

namespace perf {
namespace {

// MPI has no 16-bit floats, and leaves open what a sum past the range of its type is: Open MPI saturates 8-bit ones.
bool isReducible(const TypeInfo& type) {
  return type.bytes >= 4;
}

}  // namespace

MPI_Datatype mpiTypeOf(const TypeInfo& type) {
  if (type.bytes == 2) return MPI_UINT16_T;
  if (type.type == ncclInt8) return MPI_INT8_T;
  if (type.type == ncclUint8) return MPI_UINT8_T;
  if (type.type == ncclInt32) return MPI_INT32_T;
  if (type.type == ncclUint32) return MPI_UINT32_T;
  if (type.type == ncclInt64) return MPI_INT64_T;
  if (type.type == ncclUint64) return MPI_UINT64_T;
  if (type.type == ncclFloat32) return MPI_FLOAT;
  if (type.type == ncclFloat64) return MPI_DOUBLE;
  fail("no MPI type for {}", type.name);
}

MPI_Op mpiOpOf(const OpInfo& op) {
  switch (op.op) {
    case Op::Sum:
      return MPI_SUM;
    case Op::Prod:
      return MPI_PROD;
    case Op::Max:
      return MPI_MAX;
    case Op::Min:
      return MPI_MIN;
    case Op::None:
    case Op::Avg:
      return MPI_OP_NULL;
  }
  return MPI_OP_NULL;
}

std::vector<TypeInfo> keepMpiTypes(const std::vector<TypeInfo>& types, bool reduces) {
  std::vector<TypeInfo> kept;
  for (const TypeInfo& type : types) {
    if (!reduces || isReducible(type)) kept.push_back(type);
  }
  if (kept.empty()) {
    failUsage("--datatype {}: not reduced by MPI as by the library; allowed are {}", types.front().name,
              "int32, uint32, int64, uint64, float, double and all");
  }
  return kept;
}

std::vector<OpInfo> keepMpiOps(const std::vector<OpInfo>& ops) {
  std::vector<OpInfo> kept;
  for (const OpInfo& op : ops) {
    if (mpiOpOf(op) != MPI_OP_NULL) kept.push_back(op);
  }
  if (kept.empty()) failUsage("--op {}: MPI has none; allowed are sum, prod, max, min and all", ops.front().name);
  return kept;
}

}  // namespace perf
