// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/fabric/module_finder.h"

namespace rondo::fabric {

const ModuleTable& findModule() { return *rondoFabricModule(kModuleVersion); }

}  // namespace rondo::fabric
