// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/options.h"

#include <cstdio>
#include <optional>
#include <string>

#include "src/base/env.h"
#include "src/base/error.h"

namespace rondo::emu {
namespace {

bool reject(const std::string& text) {
  std::fprintf(stderr, "rondo: emulated device: %s\n", text.c_str());
  return false;
}

bool readNumber(const char* name, int max, int& number) {
  try {
    number = static_cast<int>(env::integer(name, 1, max).value_or(number));
    return true;
  } catch (const Error& error) {
    return reject(error.text());
  }
}

bool readWave(int& wave) {
  const std::string value = env::text("RONDO_EMU_WAVE").value_or(std::to_string(wave));
  if (value != "32" && value != "64") return reject("RONDO_EMU_WAVE=" + value + ": must be 32 or 64");
  wave = std::stoi(value);
  return true;
}

bool readProgress(Progress& progress) {
  const std::string value = env::text("RONDO_EMU_PROGRESS").value_or("lockstep");
  if (value != "lockstep" && value != "independent") {
    return reject("RONDO_EMU_PROGRESS=" + value + ": must be lockstep or independent");
  }
  progress = value == "lockstep" ? Progress::kLockstep : Progress::kIndependent;
  return true;
}

}  // namespace

Options readOptions() {
  Options read;
  // Every variable is looked at, so that one run names all mistakes.
  const bool valid[] = {readNumber("RONDO_EMU_DEVICES", 65536, read.devices),
                        readNumber("RONDO_EMU_BLOCKS", 65536, read.blocks), readWave(read.wave),
                        readProgress(read.progress)};
  for (const bool one : valid) read.valid = read.valid && one;
  return read;
}

const Options& options() {
  static const Options read = readOptions();
  return read;
}

}  // namespace rondo::emu
