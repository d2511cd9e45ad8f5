// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Memory that was freed while work was pending. A GPU's free waits for the device; waiting here could hang a thread
// that serves several ranks, so the memory stays until the work that was pending at the call, on any stream of the
// process, has finished. One list per process; any thread; looked at by every allocation and free.
#pragma once

#include <functional>

namespace rondo::emu {

// Calls release now if no stream has work pending, else later (from releaseFinished()).
void releaseWhenIdle(std::function<void()> release);

// Releases what no longer needs to stay. True if nothing waits any more.
bool releaseFinished();

}  // namespace rondo::emu
