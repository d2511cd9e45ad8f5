// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// In which order a process closes its endpoints. Inside a process the shm provider lets endpoints use each other's memory
// without mapping it: one that is closed must not be used by its peer any more, nor be looked at when the peer itself is
// closed. So an endpoint that another one of this process is connected to is kept until that one is given up as well, and
// both forget each other before either is closed. Any thread.
#pragma once

#include <memory>

#include "transport/fabric/libfabric/fabric_endpoint.h"

namespace rondo::fabric {

// Takes note of an endpoint that is in use from now on.
void noteOpened(FabricEndpoint* endpoint);

// Connects it; others' giveUp sees it connected or not, nothing between.
void connectNoted(FabricEndpoint& endpoint, const EndpointAddress& peer);

// Its owner needs it no more: closes it now or later. The owner's memory may go at once.
void giveUp(FabricEndpoint* endpoint);

}  // namespace rondo::fabric
