// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "launcher_mpi.h"

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "check.h"
#include "stream_wait.h"
#ifdef RONDO_DETAIL_NCCL_API_H_  // gpu.h has found Rondo's nccl.h or rccl/rccl.h
#include <rondo/mpi.h>
#endif

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;

// Communicators are asked this often: rarely enough not to disturb the measurement.
constexpr auto kAskEvery = std::chrono::milliseconds(1);
// How much later than MPI a communicator may notice that a process is dead. It says more about it.
constexpr auto kNoticeTime = std::chrono::seconds(1);
// How long a process that has failed lets the others tell what they have found, before it ends them.
constexpr auto kTellTime = std::chrono::seconds(2);
// How long ending the others may take: with some of them dead an MPI may wait for ever.
constexpr auto kAbortTime = std::chrono::seconds(5);

class MpiLauncher : public Launcher {
 public:
  MpiLauncher() {
    int provided = 0;
    // Another level than the one asked for is still enough: only the main thread calls MPI.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    // MPI's default is to end all processes at once, before they can tell what they have found.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
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
    check(MPI_Bcast(&message, sizeof(message), MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    if (message.result != ncclSuccess) {
      throw Failure(fmt::format("ncclGetUniqueId failed on the first process: {} / {}",
                                ncclGetErrorString(message.result), message.text));
    }
    return message.id;
  }

  ncclComm_t initCommunicator() override {
#ifdef RONDO_MPI_H_
    ncclComm_t comm = nullptr;
    PERF_NCCL(rondoCommInitMpi(&comm, MPI_COMM_WORLD, nullptr));
    return comm;
#else
    failUsage("--bootstrap mpi: this program measures another library than Rondo, which has none; must be socket");
#endif
  }

  void attach(const std::vector<LocalRank>& ranks) override {
    for (const LocalRank& rank : ranks) comms_.push_back(rank.comm);
  }
  void detach() override {
    comms_.clear();
  }

  void barrier() override {
    MPI_Request request;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    wait(request, "MPI_Ibarrier");
  }

  void reduce(std::span<double> values, Reduce kind) override {
    MPI_Request request;
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, operation(kind),
                         MPI_COMM_WORLD, &request),
          "MPI_Iallreduce");
    wait(request, "MPI_Iallreduce");
  }

 protected:
  void endOthers(int status) override {
    if (processes_ == 1) return;
    std::this_thread::sleep_for(kTellTime);
    std::thread([status] {
      std::this_thread::sleep_for(kAbortTime);
      std::_Exit(status);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  void check(int code, const char* call) const {
    if (code == MPI_SUCCESS) return;
    for (const Clock::time_point end = Clock::now() + kNoticeTime; Clock::now() < end && !comms_.empty();) {
      for (const ncclComm_t comm : comms_) checkCommunicator(comm);
      std::this_thread::sleep_for(kAskEvery);
    }
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw Failure(fmt::format("{}: {}", call, text));
  }

  void wait(MPI_Request request, const char* call) const {
    Clock::time_point ask_at = Clock::now() + kAskEvery;
    for (;;) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done) return;
      if (Clock::now() >= ask_at) {
        for (const ncclComm_t comm : comms_) checkCommunicator(comm);
        ask_at = Clock::now() + kAskEvery;
      }
      std::this_thread::yield();
    }
  }

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

  std::vector<ncclComm_t> comms_;  // this process's, between attach and detach
};

}  // namespace

std::unique_ptr<Launcher> makeMpiLauncher() {
  return std::make_unique<MpiLauncher>();
}

}  // namespace perf
