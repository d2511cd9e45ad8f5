// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/api/guard.h"

namespace rondo {

ncclResult_t reportFailure(const char* function, const Error& error) {
  const std::string text = fmt::format("{}: {}", function, error.text());
  setLastError(text);
  RONDO_WARN("{}", text);
  group::noteError(error);
  return error.code();
}

}  // namespace rondo
