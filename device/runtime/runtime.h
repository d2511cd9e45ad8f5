// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The host side of the GPU runtime, one interface for CUDA, HIP and the emulated device: devices, memory, streams, events
// and memory handles between processes. Every function throws Error(ncclUnhandledCudaError) with the vendor's text and
// the call that failed, unless it says otherwise. Any thread; the current device is the calling thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "rondo/rondo.h"

namespace rondo::runtime {

#if defined(__HIP_PLATFORM_AMD__)
using Stream = hipStream_t;
#else
using Stream = cudaStream_t;
#endif

int deviceCount();
int currentDevice();

// The properties that planning needs.
struct DeviceProperties {
  int waveSize;            // lanes
  int multiprocessors;     // SMs or CUs; on the emulated device, resident blocks
  int residentBlocks;      // blocks of kernels like ours that can run together on one multiprocessor; 1 if not known
  uint64_t busId;          // identifies the device on its host
  std::string name;
  bool isEmulated;
};
DeviceProperties deviceProperties(int device);

// Sets the current device and restores the old one.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_;
};

// Device memory of the current device, zeroed, aligned to 256 bytes at least. kShared: other GPUs and processes write to
// it while kernels poll it (fine-grained on AMD); its handle can be opened by other processes.
enum class MemoryUse { kPrivate, kShared };
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(size_t bytes, MemoryUse use);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
  int device_ = -1;
};

// Pinned host memory, zeroed, that kernels reach at the same address.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

// A name for a DeviceMemory(kShared) that another process on this host can open.
struct MemoryHandle {
  unsigned char bytes[64];
};
MemoryHandle exportMemory(const DeviceMemory& memory);

// Another process's memory mapped here.
class ImportedMemory {
 public:
  ImportedMemory() = default;
  explicit ImportedMemory(const MemoryHandle& handle);
  ~ImportedMemory();
  ImportedMemory(ImportedMemory&& other) noexcept;
  ImportedMemory& operator=(ImportedMemory&& other) noexcept;

  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
};

// Lets kernels on the current device reach memory of 'peerDevice' of this process. Repeating it is fine.
void enablePeerAccess(int peerDevice);

// Synchronous copies between host and device memory, and zeroing; not ordered with any user stream.
void copyToDevice(void* destination, const void* source, size_t bytes);
void copyFromDevice(void* destination, const void* source, size_t bytes);

// Stream-ordered.
void copyOnDevice(void* destination, const void* source, size_t bytes, Stream stream);

// An event without timing, of the device that is current when it is made.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream);
  void wait() const;             // the host sleeps until the last record's work is done
  bool done() const;             // true if nothing was recorded
  void makeWait(Stream stream) const;  // later work of stream comes after it

 private:
  void* event_ = nullptr;
};

// A non-blocking stream of the current device, for the library's own work.
class OwnedStream {
 public:
  OwnedStream();
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  Stream get() const { return stream_; }
  void synchronize() const;

 private:
  Stream stream_ = nullptr;
};

// As long as it lives, kernels of the emulated device that wait call help() from their threads, several at a time; it must
// not block and says whether it moved anything. On a GPU kernels have no host threads to lend: help is never called.
class IdleHelp {
 public:
  explicit IdleHelp(std::function<bool()> help);
  ~IdleHelp();
  IdleHelp(const IdleHelp&) = delete;
  IdleHelp& operator=(const IdleHelp&) = delete;

 private:
  const std::function<bool()> help_;
};

// What kind of memory an address is, and of which device. An address the runtime does not know is kUnregisteredHost.
enum class MemoryKind { kDevice, kPinnedHost, kManaged, kUnregisteredHost };
struct PointerInfo {
  MemoryKind kind;
  int device;
};
PointerInfo pointerInfo(const void* address);

// True while work issued to the stream is captured into a graph.
bool isCapturing(Stream stream);

// Throws if code is not the vendor's success code; 'what' names the call.
void check(int code, const char* what);

}  // namespace rondo::runtime
