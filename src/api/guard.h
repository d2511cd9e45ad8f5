// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The edge of the C API: no exception leaves, every failure becomes a code, the last error's text and a warning.
#pragma once

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/group.h"

// Exported from the shared library.
#define RONDO_API extern "C" __attribute__((visibility("default")))

namespace rondo {

ncclResult_t reportFailure(const char* function, const Error& error);

template <class Body>
ncclResult_t guarded(const char* function, Body body) noexcept {
  try {
    body();
    return ncclSuccess;
  } catch (const Error& error) {
    return reportFailure(function, error);
  } catch (const std::bad_alloc&) {
    return reportFailure(function, Error(ncclSystemError, "out of host memory"));
  } catch (const std::exception& error) {
    return reportFailure(function, Error(ncclInternalError, error.what()));
  }
}

// Throws Error(ncclInvalidArgument) if an output or input pointer is NULL.
inline void requirePointer(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(ncclInvalidArgument, "{} is NULL", name);
}

}  // namespace rondo
