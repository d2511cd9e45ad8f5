// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "program.h"

#include <cstdio>
#include <cstdlib>

#include "error.h"

namespace perf {

int runFrame(const Program& program, int argc, char** argv) {
  std::unique_ptr<Launcher> launcher;
  try {
    launcher = program.makeLauncher();
    const Options options = parseOptions(program.name, argc, argv, program.measured);
    if (options.help) {
      if (launcher->process() == 0) std::fputs(options.help_text.c_str(), stdout);
      return EXIT_SUCCESS;
    }
    return program.run(options, *launcher);
  } catch (const UsageError& error) {
    const bool tells = launcher ? launcher->process() == 0 : isFirstProcess();
    if (tells) std::fputs(fmt::format("{}: {}\n", program.name, error.what()).c_str(), stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", program.name, error.what()).c_str(), stderr);
    return EXIT_FAILURE;
  }
}

}  // namespace perf
