// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/enqueue.h"

#include <utility>

#include "device/emu/api_call.h"
#include "device/emu/handles.h"

namespace rondo::emu {

cudaError_t enqueueOnStream(cudaStream_t handle, std::function<void()> run) {
  return apiCall([&] {
    const std::shared_ptr<Stream> stream = findStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    Device& home = stream->device();
    if (home.failure() != cudaSuccess) return home.failure();
    home.submit(stream, std::move(run), TaskKind::kWork);
    return cudaSuccess;
  });
}

Device* deviceOfStream(cudaStream_t handle) {
  const std::shared_ptr<Stream> stream = findStream(handle);
  return stream != nullptr ? &stream->device() : nullptr;
}

}  // namespace rondo::emu
