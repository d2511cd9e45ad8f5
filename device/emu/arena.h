// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The memory of one (process, device): one sparse anonymous file (memfd), mapped once and shared, with an allocator on
// top. Nothing has a name in a file system, so a killed process leaves nothing behind, and another process can map
// parts of it through /proc/<pid>/fd. Owned by the Device, never unmapped; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace rondo::emu {

enum class AllocationKind { kDevice, kManaged };

struct Allocation {
  char* base;
  size_t bytes;  // as asked for
  AllocationKind kind;
};

class Arena {
 public:
  // The offset of the arena's id in its file, and a magic number before it: how an opener knows the right file.
  static constexpr uint64_t kFileMagic = 0x52656d75'61726e61;
  struct FileHead {
    uint64_t magic;
    uint64_t id;
  };

  explicit Arena(int device) : device_(device) {}

  // Aligned to 256 bytes, to a page from 64 KiB on; contents undefined. nullptr: the address range or the machine's
  // memory does not allow it. bytes > 0.
  void* allocate(size_t bytes, AllocationKind kind);

  // Takes the allocation out of sight (find() no longer has it) but keeps its memory; false if base is not the start of
  // a live allocation.
  bool retire(void* base);
  // Gives a retired allocation's memory back.
  void release(void* base);

  // The live allocation that the address lies in.
  std::optional<Allocation> find(const void* address) const;
  // Whether the address lies in the arena at all. Takes no lock.
  bool contains(const void* address) const;

  // Releases every live allocation; retired ones stay until their own release().
  void releaseAll();

  size_t touchedBytes() const;

  // For handles; meaningful once something was allocated.
  int file() const { return file_; }
  uint64_t id() const { return id_; }
  bool holdsId(uint64_t id) const;
  size_t offsetOf(const void* address) const;
  char* at(size_t offset) const;

 private:
  struct Live {
    size_t bytes;    // as asked for
    size_t rounded;  // as taken from the free ranges
    AllocationKind kind;
    bool retired;
  };

  bool openLocked();
  bool mapLocked(size_t capacity);
  std::optional<size_t> takeLocked(size_t bytes, size_t alignment);
  void giveLocked(size_t offset, size_t bytes);
  void addFreeLocked(size_t offset, size_t bytes);
  void dropFreeLocked(std::map<size_t, size_t>::iterator range);
  void punch(size_t offset, size_t bytes);

  const int device_;
  mutable std::mutex mutex_;  // protects the maps and the opening; a leaf lock
  std::atomic<char*> base_{nullptr};
  std::atomic<size_t> capacity_{0};
  int file_ = -1;
  uint64_t id_ = 0;
  std::map<size_t, size_t> freeByOffset_;           // offset -> bytes, never adjacent
  std::set<std::pair<size_t, size_t>> freeBySize_;  // (bytes, offset)
  std::map<size_t, Live> live_;                     // offset -> allocation, retired ones too
};

}  // namespace rondo::emu
