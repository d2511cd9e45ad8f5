// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Element types and reduction operations by name. Constant tables, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu.h"

namespace perf {

enum class Op { None, Sum, Prod, Max, Min, Avg };

struct TypeInfo {
  ncclDataType_t type;
  const char* name;
  size_t bytes;
};

struct OpInfo {
  Op op;
  const char* name;
  ncclRedOp_t nccl;
};

const std::vector<TypeInfo>& allTypes();
const std::vector<OpInfo>& allOps();  // without None

// The entries a name stands for: one, or every one for "all". Throws UsageError, which names `flag`.
std::vector<TypeInfo> findTypes(const std::string& flag, const std::string& name);
std::vector<OpInfo> findOps(const std::string& flag, const std::string& name);

// What a collective without a reduction shows.
OpInfo noOp();

}  // namespace perf
