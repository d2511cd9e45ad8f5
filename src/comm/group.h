// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Groups: between start and the outermost end, the calls of one thread are collected. Depth, first error and pending work
// are the thread's own. A failing call inside a group makes its end return that error and drop everything.
#pragma once

#include <memory>

#include "src/base/error.h"
#include "src/comm/comm_handle.h"

namespace rondo::group {

void start();
void end();
bool active();

// Remembers an error of a call inside the group.
void noteError(const Error& error);

// Keeps a call until the outermost end. Only while a group is open.
void collect(const std::shared_ptr<Communicator>& communicator, const StreamCall& call);

// Starts making a communicator: at the outermost end, or at once when no group is open. Writes the new handle.
void addInit(const std::shared_ptr<CommHandle>& handle, ncclComm_t* output);

}  // namespace rondo::group
