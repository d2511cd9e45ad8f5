// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <cstring>

#include "broadcast.h"
#include "mpi_collective.h"

namespace {

class MpiBroadcast : public perf::BroadcastRules<perf::MpiCollective> {
 public:
  const char* name() const override { return "mpi_broadcast"; }

  // MPI has one buffer. Out of place, the root owes itself the copy that the library makes.
  void call(const perf::MpiCall& call) const override {
    const bool copies = !call.in_place && call.rank == call.root;
    MPI_Bcast(copies ? call.send : call.recv, call.count, call.type, call.root, MPI_COMM_WORLD);
    if (copies) std::memcpy(call.recv, call.send, call.bytes);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return perf::runMpiProgram(argc, argv, MpiBroadcast());
}
