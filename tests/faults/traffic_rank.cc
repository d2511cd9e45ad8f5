// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// One rank of a job as a process, for tests that stop, slow, delay or interrupt it. The ranks meet at NCCL_COMM_ID; then
// rounds of broadcasts and allreduces go on until rank 0's standard input ends. Several calls are in flight at a time, and
// every element of every result is compared. Uses the public API alone, as a program of a user does.
// Usage: traffic_rank RANK RANKS [NAME=NUMBER...]
//   late_ms       this rank makes its first call that much later than it could
//   stall_at      the call, counted from 1, before which this rank sleeps for stall_ms
//   stall_ms
//   broadcasts    0: allreduces only        allreduces   0: broadcasts only (both 1 by default)
//   alarm_us      period of a timer whose signal interrupts whichever thread; 0: none. Handlers of SIGALRM and SIGUSR1
//                 are then installed without SA_RESTART, before init
// Prints "ready" after init, at the end "all right: ROUNDS rounds, CALLS calls, SIGNALS signals"; or what went wrong, with
// exit status 1.
#include <cuda_runtime.h>
#include <nccl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Word = uint32_t;

constexpr size_t kCounts[] = {1, 2000, 64, 60'000, 3, 20'000, 257, 1000};
constexpr size_t kCalls = std::size(kCounts);  // in flight together

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void require(ncclResult_t result, const char* call) {
  require(result == ncclSuccess, std::string(call) + " says " + std::to_string(result) + ": " + ncclGetLastError(nullptr));
}

void require(cudaError_t result, const char* call) {
  require(result == cudaSuccess, std::string(call) + " says " + cudaGetErrorString(result));
}

std::atomic<unsigned> signalsSeen{0};
static_assert(std::atomic<unsigned>::is_always_lock_free);

void onSignal(int) {
  signalsSeen.fetch_add(1, std::memory_order_relaxed);
}

void interrupt(int period_us) {
  struct sigaction action {};
  action.sa_handler = onSignal;  // no SA_RESTART: system calls fail with EINTR
  require(sigaction(SIGALRM, &action, nullptr) == 0 && sigaction(SIGUSR1, &action, nullptr) == 0, "sigaction failed");
  const itimerval timer{{0, period_us}, {0, period_us}};
  require(setitimer(ITIMER_REAL, &timer, nullptr) == 0, "setitimer failed");
}

// What rank 'rank' gives to a call; the sum over all ranks is that of rank n(n+1)/2 - 1.
Word valueOf(unsigned rank, unsigned call, size_t index) {
  return (rank + 1) * (call * 2654435761u + static_cast<Word>(index) * 40503u + 1);
}

class Job {
 public:
  Job(int rank, int ranks, std::map<std::string, int> options) : rank_(rank), ranks_(ranks), options_(std::move(options)) {
    ncclUniqueId id;
    require(cudaSetDevice(rank), "cudaSetDevice");
    require(ncclGetUniqueId(&id), "ncclGetUniqueId");
    require(ncclCommInitRank(&comm_, ranks, id, rank), "ncclCommInitRank");
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    for (const size_t count : kCounts) {
      Buffers& buffers = buffers_.emplace_back();
      require(cudaMalloc(reinterpret_cast<void**>(&buffers.input), count * sizeof(Word)), "cudaMalloc");
      require(cudaMalloc(reinterpret_cast<void**>(&buffers.output), count * sizeof(Word)), "cudaMalloc");
    }
  }

  void run() {
    sleep_ms("late_ms");
    bool more = true;
    for (; more; ++rounds_) {
      more = agreeToGoOn();
      const unsigned first = calls_ + 1;
      for (size_t i = 0; i < kCalls; ++i) start(i);
      wait();
      for (size_t i = 0; i < kCalls; ++i) check(i, first + static_cast<unsigned>(i));
    }
    require(ncclCommDestroy(comm_), "ncclCommDestroy");
  }

  unsigned rounds() const { return rounds_; }
  unsigned calls() const { return calls_; }

 private:
  struct Buffers {
    Word* input;
    Word* output;
  };

  void sleep_ms(const char* option) { std::this_thread::sleep_for(std::chrono::milliseconds(options_[option])); }

  bool isBroadcast(unsigned call) { return options_["allreduces"] == 0 || (options_["broadcasts"] != 0 && call % 2 == 0); }
  unsigned rootOf(unsigned call) const { return call / 2 % static_cast<unsigned>(ranks_); }

  void beginCall() {
    if (static_cast<int>(++calls_) == options_["stall_at"]) sleep_ms("stall_ms");
  }

  // Rank 0 tells the others whether its standard input is still open.
  bool agreeToGoOn() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const Word mine = rank_ == 0 ? poll(&input, 1, 0) == 0 : 2;
    Word told = 3;
    const Buffers& buffers = buffers_.front();
    require(cudaMemcpy(buffers.output, &mine, sizeof(mine), cudaMemcpyHostToDevice), "cudaMemcpy");
    beginCall();
    require(ncclBroadcast(buffers.output, buffers.output, 1, ncclUint32, 0, comm_, stream_), "ncclBroadcast");
    wait();
    require(cudaMemcpy(&told, buffers.output, sizeof(told), cudaMemcpyDeviceToHost), "cudaMemcpy");
    require(told <= 1 && (rank_ != 0 || told == mine), "wrong: a broadcast of one word brought " + std::to_string(told));
    return told == 1;
  }

  void start(size_t i) {
    const size_t count = kCounts[i];
    const auto rank = static_cast<unsigned>(rank_);
    const Buffers& buffers = buffers_[i];
    host_.resize(count);
    for (size_t k = 0; k < count; ++k) host_[k] = valueOf(rank, calls_ + 1, k);
    require(cudaMemcpy(buffers.input, host_.data(), count * sizeof(Word), cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaMemset(buffers.output, 0x5a, count * sizeof(Word)), "cudaMemset");
    beginCall();
    if (isBroadcast(calls_)) {
      require(ncclBroadcast(buffers.input, buffers.output, count, ncclUint32, static_cast<int>(rootOf(calls_)), comm_, stream_),
              "ncclBroadcast");
    } else {
      require(ncclAllReduce(buffers.input, buffers.output, count, ncclUint32, ncclSum, comm_, stream_), "ncclAllReduce");
    }
  }

  void wait() {
    require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    ncclResult_t state = ncclInternalError;
    require(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
    require(state, "the asynchronous error");
  }

  void check(size_t i, unsigned call) {
    const size_t count = kCounts[i];
    const auto ranks = static_cast<unsigned>(ranks_);
    const unsigned from = isBroadcast(call) ? rootOf(call) : ranks * (ranks + 1) / 2 - 1;
    host_.resize(count);
    require(cudaMemcpy(host_.data(), buffers_[i].output, count * sizeof(Word), cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (size_t k = 0; k < count; ++k) {
      if (host_[k] == valueOf(from, call, k)) continue;
      throw std::runtime_error("wrong: call " + std::to_string(call) + (isBroadcast(call) ? " (broadcast)" : " (allreduce)") +
                               " element " + std::to_string(k) + " of " + std::to_string(count) + " is " +
                               std::to_string(host_[k]) + ", not " + std::to_string(valueOf(from, call, k)));
    }
  }

  const int rank_;
  const int ranks_;
  std::map<std::string, int> options_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::vector<Buffers> buffers_;
  std::vector<Word> host_;
  unsigned calls_ = 0;
  unsigned rounds_ = 0;
};

void run(int argc, char** argv) {
  std::map<std::string, int> options{{"broadcasts", 1}, {"allreduces", 1}};
  for (int i = 3; i < argc; ++i) {
    const std::string option = argv[i];
    const size_t equals = option.find('=');
    require(equals != std::string::npos, "not NAME=NUMBER: " + option);
    options[option.substr(0, equals)] = std::atoi(option.c_str() + equals + 1);
  }
  if (options["alarm_us"] > 0) interrupt(options["alarm_us"]);
  Job job(std::atoi(argv[1]), std::atoi(argv[2]), options);
  std::puts("ready");
  job.run();
  std::printf("all right: %u rounds, %u calls, %u signals\n", job.rounds(), job.calls(), signalsSeen.load());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
