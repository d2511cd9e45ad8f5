// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One rank of a control plane as a process, for tests that stop, cut off or kill it. It meets the others at
// NCCL_COMM_ID, then takes part in one exchange per second. Usage: control_rank RANK RANKS SECONDS [BYTES_PER_RANK].
// Prints "ready" once the ranks have met, and at the end "all right"; or the error, with exit status 1.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "transport/bootstrap/control.h"

namespace {

void say(const std::string& text) {
  std::puts(text.c_str());
  std::fflush(stdout);
}

void run(int rank, int ranks, int seconds, size_t bytes) {
  const auto bootstrap = rondo::connectSocketBootstrap(rondo::createUniqueId(), rank, ranks, {});
  rondo::ControlPlane plane(*bootstrap, {}, {});
  say("ready");
  std::vector<char> all(bytes * static_cast<size_t>(ranks));
  for (int second = 0; second < seconds; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    plane.allGather(all.data(), bytes);
  }
  plane.leave();
  if (!plane.waitAllLeft({}, std::chrono::seconds(10))) rondo::fail(ncclInternalError, "not all ranks have left");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 8);
    say("all right");
    return 0;
  } catch (const rondo::Error& error) {
    say(error.text());
    return 1;
  }
}
