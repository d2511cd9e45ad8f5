// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Who is helped by kernels that wait (rondoEmuStartHelp): on a machine with few cores a proxy that gets its work done by
// the very kernel that waits for it needs no switch of threads. Any thread.
#pragma once

namespace rondo::emu {

// Calls each helper once; true if any moved something.
bool helpOthers();

}  // namespace rondo::emu
