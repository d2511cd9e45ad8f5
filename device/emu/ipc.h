// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Device memory between processes. A handle says which process's which file holds the memory and where; the opener maps
// that part of /proc/<pid>/fd/<fd>. The opener proves by the id in the file's head that it has the right file: process
// numbers and file numbers are reused. One table of opened memory per process; any thread.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rondo::emu {

struct ImportedRange {
  char* base;
  size_t bytes;
  int device;  // current when it was opened
};

// A handle for the whole allocation that the address lies in.
cudaError_t makeIpcHandle(const void* address, cudaIpcMemHandle_t& handle);

// Maps it, or counts a further user if it is open here already. Memory of this process is given at its own address.
cudaError_t openIpcHandle(const cudaIpcMemHandle_t& handle, void*& address);

// address is what openIpcHandle gave. The mapping goes with its last user, when pending work is done.
cudaError_t closeIpcHandle(void* address);

std::optional<ImportedRange> findImport(const void* address);

}  // namespace rondo::emu
