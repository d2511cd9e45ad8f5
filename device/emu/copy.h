// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Copies and fills, synchronous and stream-ordered, after their addresses and direction have been checked. Any thread;
// see each for what its caller waits for.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "device/emu/stream.h"

namespace rondo::emu {

struct CopyRequest {
  void* destination;
  const void* source;
  size_t bytes;
  cudaMemcpyKind kind;
};

// In the null stream's order. Between device memories it may return before the copy is done, as on a GPU (a caller that
// serves several ranks must not wait for the ranks' kernels here); otherwise it returns after it.
cudaError_t copyNow(const CopyRequest& request);

// In the stream's order. The source is read when the stream comes to it, except host memory that is not pinned, which
// is read before this returns, as on a GPU.
cudaError_t copyOnStream(const CopyRequest& request, const std::shared_ptr<Stream>& stream);

struct FillRequest {
  void* destination;
  int value;
  size_t bytes;
};

// As the copies; copyNow's rule for device memory holds for fillNow.
cudaError_t fillNow(const FillRequest& request);
cudaError_t fillOnStream(const FillRequest& request, const std::shared_ptr<Stream>& stream);

}  // namespace rondo::emu
