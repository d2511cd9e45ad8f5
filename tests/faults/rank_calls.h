// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What a rank of a test program does, by the public API alone. Failures are exceptions that say which call it was and
// what the library says about it. The rank's own thread.
#pragma once

#include <cuda_runtime.h>
#include <rondo/rondo.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace rondo::test {

class CallFailed : public std::runtime_error {
 public:
  CallFailed(ncclResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ncclResult_t code() const { return code_; }

 private:
  ncclResult_t code_;
};

// Throws "CALL: CODE: last error" unless result is ncclSuccess.
void check(ncclResult_t result, const char* call);
void check(cudaError_t result, const char* call);

// An AllReduce over count floats whose every result is compared.
void checkSum(ncclComm_t comm, int rank, int ranks, size_t count);

int countDescriptors();

}  // namespace rondo::test
