// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The frame of every perf program that launches ranks: launcher, command line, help, and one line for what went wrong.
// Called by main.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher.h"
#include "options.h"

namespace perf {

struct Program {
  std::string name;  // "all_reduce_perf"
  Measured measured = Measured::Library;
  std::function<std::unique_ptr<Launcher>()> makeLauncher;
  // The exit status, the same on every process. May throw UsageError, found by every process alike.
  std::function<int(const Options& options, Launcher& launcher)> run;
};

int runFrame(const Program& program, int argc, char** argv);

}  // namespace perf
