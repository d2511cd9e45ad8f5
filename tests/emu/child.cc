// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The other process of the tests: what it does is its first argument. Exits 0 if all went as it should.
#include <cuda_runtime.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr size_t kBytes = 3 * 65536 + 256;
constexpr unsigned char kOwn = 0x5a;
constexpr unsigned char kTheirs = 0xa5;

[[noreturn]] void leave(const char* what, cudaError_t code) {
  std::fprintf(stderr, "child: %s: %s (%s)\n", what, cudaGetErrorString(code), rondoEmuErrorDetail());
  _exit(1);
}

void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess) leave(what, code);
}

void require(bool condition, const char* what) {
  if (!condition) leave(what, cudaSuccess);
}

void exportHandle(void* memory) {
  cudaIpcMemHandle_t handle;
  require(cudaIpcGetMemHandle(&handle, memory), "handle");
  require(write(STDOUT_FILENO, &handle, sizeof handle) == sizeof handle, "write of the handle");
}

// Lends memory, waits until the other has written into it, and looks.
int lend() {
  void* before = nullptr;
  void* memory = nullptr;
  require(cudaMalloc(&before, 256), "a small allocation, so that the range does not start at a page");
  require(cudaMalloc(&memory, 512), "allocation");
  require(cudaMemset(memory, kOwn, 512), "fill");
  require(cudaDeviceSynchronize(), "fill");
  exportHandle(memory);
  char turn;
  require(read(STDIN_FILENO, &turn, 1) == 1, "turn");
  unsigned char seen[512];
  require(cudaMemcpy(seen, memory, sizeof seen, cudaMemcpyDeviceToHost), "copy");
  for (const unsigned char byte : seen) require(byte == kTheirs, "the other's bytes");
  return 0;
}

// Lends memory and stays until it is killed.
int lendForEver() {
  void* memory = nullptr;
  require(cudaMalloc(&memory, kBytes), "allocation");
  require(cudaMemset(memory, kOwn, kBytes), "fill");
  require(cudaDeviceSynchronize(), "fill");
  exportHandle(memory);
  for (;;) pause();
}

// Lends, frees, and allocates again: what was lent is another's now.
int lendAndFree() {
  void* memory = nullptr;
  require(cudaMalloc(&memory, kBytes), "allocation");
  exportHandle(memory);
  char turn;
  require(read(STDIN_FILENO, &turn, 1) == 1, "turn");
  return 0;
}

// Returns from main while a stream runs a function that does not end, with more queued behind it.
int exitBusy() {
  static std::atomic<bool> running{false};
  cudaStream_t stream;
  void* memory = nullptr;
  require(cudaMalloc(&memory, kBytes), "allocation");
  require(cudaStreamCreate(&stream), "stream");
  const auto forEver = [](void*) {
    running = true;
    for (;;) usleep(1000);
  };
  require(cudaLaunchHostFunc(stream, forEver, nullptr), "host function");
  require(cudaMemsetAsync(memory, 1, kBytes, stream), "fill");
  require(cudaMemsetAsync(memory, 1, kBytes, nullptr), "fill in the null stream");
  require(cudaMemsetAsync(memory, 1, kBytes, cudaStreamPerThread), "fill in the thread's stream");
  while (!running) usleep(100);
  return 0;
}

// A child forked after the first call is told so.
int forkLate() {
  void* memory = nullptr;
  require(cudaMalloc(&memory, 256), "allocation");
  const pid_t process = fork();
  if (process == 0) _exit(cudaFree(memory) == cudaErrorInitializationError ? 0 : 2);
  int status = 0;
  waitpid(process, &status, 0);
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the forked child's code");
  require(cudaFree(memory), "free in the parent");
  return 0;
}

// A stream's thread takes no signal of the program's.
int signals() {
  static std::atomic<int> wrongThread{0};
  static std::atomic<int> taken{0};
  static pthread_t mainThread = pthread_self();
  const auto handler = [](int) {
    ++taken;
    if (pthread_equal(pthread_self(), mainThread) == 0) ++wrongThread;
  };
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, nullptr);
  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "stream");
  require(cudaLaunchHostFunc(
              stream, [](void*) {}, nullptr),
          "host function");
  require(cudaStreamSynchronize(stream), "wait");
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mine, nullptr);
  kill(getpid(), SIGUSR1);  // to any thread that does not block it
  usleep(20000);
  require(taken == 0, "no thread but the main one may take the signal");
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  usleep(1000);
  require(taken == 1 && wrongThread == 0, "the main thread takes it");
  return 0;
}

// With wrong settings every call answers so.
int wrongSettings() {
  int count = 0;
  void* memory = nullptr;
  require(cudaGetDeviceCount(&count) == cudaErrorInitializationError, "device count");
  require(cudaMalloc(&memory, 256) == cudaErrorInitializationError, "allocation");
  require(cudaGetLastError() == cudaErrorInitializationError, "last error");
  return 0;
}

// Prints devices, lanes and blocks.
int settings() {
  int values[3];
  cudaDeviceProp properties;
  require(cudaGetDeviceCount(&values[0]), "device count");
  require(cudaGetDeviceProperties(&properties, 0), "properties");
  values[1] = properties.warpSize;
  values[2] = properties.multiProcessorCount;
  require(write(STDOUT_FILENO, values, sizeof values) == sizeof values, "write");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string role = count > 1 ? arguments[1] : "";
  if (role == "lend") return lend();
  if (role == "lend-for-ever") return lendForEver();
  if (role == "lend-and-free") return lendAndFree();
  if (role == "exit-busy") return exitBusy();
  if (role == "fork-late") return forkLate();
  if (role == "signals") return signals();
  if (role == "wrong-settings") return wrongSettings();
  if (role == "settings") return settings();
  return 3;
}
