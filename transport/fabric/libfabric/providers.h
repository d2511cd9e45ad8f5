// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Which of libfabric's providers to use. libfabric itself looks at FI_PROVIDER: what the user excludes is not seen here.
#pragma once

#include <string>

#include "transport/fabric/libfabric/handle.h"
#include "transport/fabric/module.h"

namespace rondo::fabric {

// The best local and network providers. Throws Error when libfabric offers nothing that fits.
Providers findProviders(bool allowShm);

// How to open a provider. operation as in OpenRequest; writes tells what it came to. For shm, name is the file in
// /dev/shm that the endpoint shall make.
struct Choice {
  Info info;
  bool writes;
};
Choice chooseInfo(const OpenRequest& request, const std::string& shmName);

}  // namespace rondo::fabric
