// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Finds the network module and puts the Endpoint interface over its table. The module is loaded at the first use and stays
// loaded. Any thread.
#pragma once

#include <memory>

#include "transport/fabric/module.h"

namespace rondo::fabric {

// RONDO_MODULE_DIR/librondo_fabric.so if that is set, else the one beside the library. A statically linked library has the
// module inside. Throws Error(ncclSystemError): one line that says what is missing.
const ModuleTable& networkModule();

// Throws Error when libfabric offers nothing that fits.
Providers probeProviders(bool allowShm);

std::unique_ptr<Endpoint> openEndpoint(const OpenRequest& request);

}  // namespace rondo::fabric
