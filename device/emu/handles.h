// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The handles a program holds: which streams and events exist. A handle that was destroyed, or never was one, is found
// out rather than followed. One table per process; any thread.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "device/emu/event.h"
#include "device/emu/stream.h"

namespace rondo::emu {

cudaStream_t addStream(const std::shared_ptr<Stream>& stream);
// The stream of a handle; for 0 and cudaStreamLegacy the current device's null stream, for cudaStreamPerThread this
// thread's own stream on the current device. nullptr: no such stream.
std::shared_ptr<Stream> findStream(cudaStream_t handle);
// Takes it out of the table; nullptr: not a handle that may be destroyed.
std::shared_ptr<Stream> removeStream(cudaStream_t handle);

cudaEvent_t addEvent(const std::shared_ptr<Event>& event);
std::shared_ptr<Event> findEvent(cudaEvent_t handle);
std::shared_ptr<Event> removeEvent(cudaEvent_t handle);

// Closes and takes out all of a device.
void removeHandlesOf(const Device& device);

}  // namespace rondo::emu
