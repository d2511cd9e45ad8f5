// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/host.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/error.h"

namespace rondo {

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "unknown";
  const std::string whole = name;
  return whole.substr(0, whole.find('.'));
}

std::string processName() {
  return fmt::format("{}:{}", hostName(), getpid());
}

uint64_t randomBits() {
  uint64_t bits = 0;
  // Requests of up to 256 bytes are never cut short; a signal can only come before the pool is ready.
  while (getrandom(&bits, sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits)))
    if (errno != EINTR) failErrno("getrandom");
  return bits;
}

}  // namespace rondo
