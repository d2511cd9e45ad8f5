// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "launcher_mpi.h"

#include <mpi.h>

#include "check.h"

namespace perf {
namespace {

class MpiLauncher : public Launcher {
 public:
  MpiLauncher() {
    int provided = 0;
    // Another level than the one asked for is still enough: only the main thread calls MPI.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_);
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process_, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_process_);
    MPI_Comm_free(&host);
  }
  ~MpiLauncher() override { MPI_Finalize(); }

  ncclUniqueId shareId() override {
    // The result travels with the id, so that a failure of the first process is one of all, and none waits.
    struct {
      ncclResult_t result = ncclSuccess;
      ncclUniqueId id = {};
      char text[512] = {};
    } message;
    if (process_ == 0) {
      message.result = ncclGetUniqueId(&message.id);
      if (message.result != ncclSuccess) {
        const char* last = ncclGetLastError(nullptr);
        std::snprintf(message.text, sizeof(message.text), "%s", last ? last : "");
      }
    }
    MPI_Bcast(&message, sizeof(message), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (message.result != ncclSuccess) {
      throw Failure(fmt::format("ncclGetUniqueId failed on the first process: {} / {}",
                                ncclGetErrorString(message.result), message.text));
    }
    return message.id;
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  void reduce(std::span<double> values, Reduce kind) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, operation(kind),
                  MPI_COMM_WORLD);
  }

 protected:
  void endOthers(int status) override {
    if (processes_ > 1) MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  static MPI_Op operation(Reduce kind) {
    switch (kind) {
      case Reduce::Sum:
        return MPI_SUM;
      case Reduce::Min:
        return MPI_MIN;
      case Reduce::Max:
        return MPI_MAX;
    }
    return MPI_OP_NULL;
  }
};

}  // namespace

std::unique_ptr<Launcher> makeMpiLauncher() {
  return std::make_unique<MpiLauncher>();
}

}  // namespace perf
