// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Where the module's table comes from. Two implementations, of which a library links one: module_finder_dynamic.cc opens
// librondo_fabric.so, module_finder_static.cc has the module linked in.
#pragma once

#include "transport/fabric/module.h"

namespace rondo::fabric {

// Throws Error(ncclSystemError).
const ModuleTable& findModule();

}  // namespace rondo::fabric
