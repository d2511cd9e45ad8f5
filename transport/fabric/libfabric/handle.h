// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Handle: owns one libfabric object, which is closed with it. And how the module's functions fail.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <string>

#include "src/base/error.h"
#include "src/base/fd.h"

namespace rondo::fabric {

template <class Object>
struct CloseObject {
  void operator()(Object* object) const { fi_close(&object->fid); }
};
template <class Object>
using Handle = std::unique_ptr<Object, CloseObject<Object>>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// "what: Cannot allocate memory (tcp;ofi_rxm)". result is libfabric's negative error number.
[[noreturn]] inline void failFabric(const std::string& what, long result, const std::string& provider) {
  fail(ncclSystemError, "{}: {}{} ({})", what, fi_strerror(static_cast<int>(-result)),
       result == -FI_EMFILE ? ", " + descriptorLimit() : "", provider);
}

inline void checkFabric(long result, const char* what, const std::string& provider) {
  if (result < 0) failFabric(what, result, provider);
}

}  // namespace rondo::fabric
