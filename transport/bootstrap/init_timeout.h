// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// RONDO_INIT_TIMEOUT: how long init waits for other ranks. Any thread.
#pragma once

#include <chrono>

namespace rondo {

// Throws InvalidArgument when the variable is out of its range.
std::chrono::seconds initTimeout();

}  // namespace rondo
