// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Limits that host and device code share.
#pragma once

namespace rondo {

constexpr unsigned kMaxWorkers = 16;         // worker waves of a block; the progress wavefront has a lane for each
constexpr unsigned kMaxWorkerThreads = 512;  // NCCL_NTHREADS

}  // namespace rondo
