// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/api/config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "src/base/env.h"
#include "src/base/error.h"

namespace rondo {
namespace {

constexpr unsigned kMagic = 0xcafebeef;

int checkedField(const char* name, int value, int otherwise, int min, int max) {
  if (value == NCCL_CONFIG_UNDEF_INT) return otherwise;
  if (value < min || value > max) fail(ncclInvalidArgument, "config.{}={}: must be from {} to {}", name, value, min, max);
  return value;
}

}  // namespace

CommConfig readConfig(const ncclConfig_t* config) {
  ncclConfig_t given = NCCL_CONFIG_INITIALIZER;
  if (config != nullptr) {
    size_t bytes = 0;
    std::memcpy(&bytes, config, sizeof(bytes));
    if (bytes < offsetof(ncclConfig_t, blocking))
      fail(ncclInvalidArgument, "config.size={}: start from NCCL_CONFIG_INITIALIZER", bytes);
    std::memcpy(&given, config, std::min(bytes, sizeof(given)));
    if (given.magic != kMagic)
      fail(ncclInvalidArgument, "config.magic={:#x}: start from NCCL_CONFIG_INITIALIZER", given.magic);
  }
  CommConfig result;
  result.blocking = checkedField("blocking", given.blocking, 1, 0, 1) != 0;
  result.blocking = env::flag("NCCL_COMM_BLOCKING", result.blocking);
  result.checkPointers = env::flag("NCCL_CHECK_POINTERS", false);
  if (given.version >= NCCL_VERSION(2, 17, 0)) {
    result.minChannels = checkedField("minCTAs", given.minCTAs, 0, 1, kMaxChannels);
    result.maxChannels = checkedField("maxCTAs", given.maxCTAs, 0, 1, kMaxChannels);
    if (result.maxChannels != 0 && result.minChannels > result.maxChannels)
      fail(ncclInvalidArgument, "config.minCTAs={}: must be at most maxCTAs={}", result.minChannels, result.maxChannels);
  }
  return result;
}

}  // namespace rondo
