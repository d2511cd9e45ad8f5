// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rondo::emu {
namespace {

// The emulated device stands where a driver stands, below the library's own settings, so it reads its variables itself.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool reject(const char* name, const char* value, const char* allowed) {
  std::fprintf(stderr, "rondo: emulated device: %s=%s: must be %s\n", name, value, allowed);
  return false;
}

bool readNumber(const char* name, int max, int& number) {
  const char* value = variable(name);
  if (value == nullptr) return true;
  char* end = nullptr;
  errno = 0;
  const long parsed = std::strtol(value, &end, 10);
  if (errno == 0 && *end == '\0' && parsed >= 1 && parsed <= max) {
    number = static_cast<int>(parsed);
    return true;
  }
  char allowed[64];
  std::snprintf(allowed, sizeof allowed, "a whole number from 1 to %d", max);
  return reject(name, value, allowed);
}

bool readWave(int& wave) {
  const char* value = variable("RONDO_EMU_WAVE");
  if (value == nullptr) return true;
  if (std::strcmp(value, "32") == 0 || std::strcmp(value, "64") == 0) {
    wave = std::atoi(value);
    return true;
  }
  return reject("RONDO_EMU_WAVE", value, "32 or 64");
}

bool readProgress(Progress& progress) {
  const char* value = variable("RONDO_EMU_PROGRESS");
  if (value == nullptr) return true;
  if (std::strcmp(value, "lockstep") == 0) {
    progress = Progress::kLockstep;
    return true;
  }
  if (std::strcmp(value, "independent") == 0) {
    progress = Progress::kIndependent;
    return true;
  }
  return reject("RONDO_EMU_PROGRESS", value, "lockstep or independent");
}

}  // namespace

Options readOptions() {
  Options read;
  // Every variable is looked at, so that one run names all mistakes.
  read.valid = readNumber("RONDO_EMU_DEVICES", 65536, read.devices) &
               readNumber("RONDO_EMU_BLOCKS", 65536, read.blocks) & readWave(read.wave) & readProgress(read.progress);
  return read;
}

const Options& options() {
  static const Options read = readOptions();
  return read;
}

}  // namespace rondo::emu
