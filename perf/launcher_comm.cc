// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "launcher_comm.h"

#include <algorithm>
#include <limits>

#include "check.h"
#include "stream_wait.h"

namespace perf {
namespace {

constexpr size_t kBufferValues = 4096;

class CommLauncher : public Launcher {
 public:
  CommLauncher(int process, int processes, int local_process) {
    process_ = process;
    processes_ = processes;
    local_process_ = local_process;
  }

  ncclUniqueId shareId() override {
    ncclUniqueId id;
    PERF_NCCL(ncclGetUniqueId(&id));  // NCCL_COMM_ID is set: the same on every process
    return id;
  }

  void attach(const std::vector<LocalRank>& ranks) override {
    for (const LocalRank& rank : ranks) {
      Link link{rank.device, {}, nullptr};
      PERF_GPU(cudaSetDevice(rank.device));
      PERF_GPU(cudaStreamCreateWithFlags(&link.pending.stream, cudaStreamNonBlocking));
      PERF_GPU(cudaMalloc(reinterpret_cast<void**>(&link.buffer), kBufferValues * sizeof(double)));
      link.pending.comm = rank.comm;
      links_.push_back(link);
    }
  }

  void detach() override {
    for (Link& link : links_) {
      PERF_GPU(cudaSetDevice(link.device));
      PERF_GPU(cudaFree(link.buffer));
      PERF_GPU(cudaStreamDestroy(link.pending.stream));
    }
    links_.clear();
  }

  void barrier() override {
    double none = 0;
    reduce({&none, 1}, Reduce::Sum);
  }

  void reduce(std::span<double> values, Reduce kind) override {
    for (size_t at = 0; at < values.size(); at += kBufferValues) {
      reducePart(values.subspan(at, std::min(kBufferValues, values.size() - at)), kind);
    }
  }

 private:
  struct Link {
    int device;
    PendingStream pending;
    double* buffer;
  };

  struct Operation {
    ncclRedOp_t op;
    double neutral;
  };

  static Operation operation(Reduce kind) {
    switch (kind) {
      case Reduce::Sum:
        return {ncclSum, 0};
      case Reduce::Min:
        return {ncclMin, std::numeric_limits<double>::infinity()};
      case Reduce::Max:
        return {ncclMax, -std::numeric_limits<double>::infinity()};
    }
    throw Failure("unknown reduction");
  }

  // The process's first rank brings its values, the others nothing.
  void reducePart(std::span<double> values, Reduce kind) {
    const Operation operation = CommLauncher::operation(kind);
    const size_t bytes = values.size_bytes();
    const std::vector<double> neutral(values.size(), operation.neutral);
    std::vector<PendingStream> pending;
    for (const Link& link : links_) {
      PERF_GPU(cudaSetDevice(link.device));
      const double* source = &link == &links_.front() ? values.data() : neutral.data();
      PERF_GPU(cudaMemcpyAsync(link.buffer, source, bytes, cudaMemcpyHostToDevice, link.pending.stream));
      pending.push_back(link.pending);
    }
    PERF_NCCL(ncclGroupStart());
    for (const Link& link : links_) {
      PERF_NCCL(ncclAllReduce(link.buffer, link.buffer, values.size(), ncclFloat64, operation.op, link.pending.comm,
                              link.pending.stream));
    }
    PERF_NCCL(ncclGroupEnd());
    waitStreams(pending);
    const Link& first = links_.front();
    PERF_GPU(cudaSetDevice(first.device));
    PERF_GPU(cudaMemcpyAsync(values.data(), first.buffer, bytes, cudaMemcpyDeviceToHost, first.pending.stream));
    PERF_GPU(cudaStreamSynchronize(first.pending.stream));
  }

  std::vector<Link> links_;
};

}  // namespace

std::unique_ptr<Launcher> makeCommLauncher(int process, int processes, int local_process) {
  return std::make_unique<CommLauncher>(process, processes, local_process);
}

}  // namespace perf
