// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The emulated device's settings, read once per process from the environment. A wrong value is named on stderr once;
// the process then runs on no device: every runtime call answers cudaErrorInitializationError. Any thread.
#pragma once

namespace rondo::emu {

// Which lanes of a diverged wave may run.
enum class Progress { kLockstep, kIndependent };

struct Options {
  int devices = 256;                        // RONDO_EMU_DEVICES, 1 to 65536: devices reported
  int wave = 64;                            // RONDO_EMU_WAVE, 32 or 64: lanes
  int blocks = 256;                         // RONDO_EMU_BLOCKS, 1 to 65536: resident blocks of one device
  Progress progress = Progress::kLockstep;  // RONDO_EMU_PROGRESS, lockstep or independent
  bool valid = true;                        // false: a variable was wrong, the others are as given
};

const Options& options();

// What options() does for the first caller, without the memory: for tests.
Options readOptions();

}  // namespace rondo::emu
