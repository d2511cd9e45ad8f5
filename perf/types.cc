// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "types.h"

#include "error.h"

namespace perf {
namespace {

template <class Info>
std::vector<Info> findByName(const std::vector<Info>& all, const std::string& flag, const std::string& name) {
  if (name == "all") return all;
  std::string names;
  for (const Info& info : all) {
    if (name == info.name) return {info};
    names += std::string(info.name) + ", ";
  }
  failUsage("{} {}: unknown; allowed are {}all", flag, name, names);
}

}  // namespace

const std::vector<TypeInfo>& allTypes() {
  static const std::vector<TypeInfo> types = {
      {ncclInt8, "int8", 1},      {ncclUint8, "uint8", 1},      {ncclInt32, "int32", 4},  {ncclUint32, "uint32", 4},
      {ncclInt64, "int64", 8},    {ncclUint64, "uint64", 8},    {ncclFloat16, "half", 2}, {ncclFloat32, "float", 4},
      {ncclFloat64, "double", 8}, {ncclBfloat16, "bfloat16", 2}};
  return types;
}

const std::vector<OpInfo>& allOps() {
  static const std::vector<OpInfo> ops = {{Op::Sum, "sum", ncclSum},
                                          {Op::Prod, "prod", ncclProd},
                                          {Op::Max, "max", ncclMax},
                                          {Op::Min, "min", ncclMin},
                                          {Op::Avg, "avg", ncclAvg}};
  return ops;
}

std::vector<TypeInfo> findTypes(const std::string& flag, const std::string& name) {
  return findByName(allTypes(), flag, name);
}

std::vector<OpInfo> findOps(const std::string& flag, const std::string& name) {
  return findByName(allOps(), flag, name);
}

OpInfo noOp() {
  return {Op::None, "none", ncclSum};
}

}  // namespace perf
