// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Who this process is, for texts that name it, and random numbers from the system. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace rondo {

// The host's name up to its first dot; "unknown" when it has none.
std::string hostName();

// "host:pid", right in a forked child too.
std::string processName();

// 64 bits that nobody can guess.
uint64_t randomBits();

}  // namespace rondo
