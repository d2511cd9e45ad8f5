// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "device/emu/api_call.h"
#include "device/emu/arena.h"
#include "device/emu/deferred_free.h"
#include "device/emu/device.h"

namespace rondo::emu {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kHandleMagic = 0x52656d69;

struct HandleContent {
  uint32_t magic;
  int32_t process;
  int32_t file;
  int32_t device;
  uint64_t arenaId;
  uint64_t offset;
  uint64_t bytes;
  uint64_t unused[2];
  uint64_t check;  // of all before it: a handle mangled on its way is not followed
};
static_assert(sizeof(HandleContent) == sizeof(cudaIpcMemHandle_t));

uint64_t checkOf(const HandleContent& content) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&content);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (size_t i = 0; i < offsetof(HandleContent, check); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

struct Import {
  ImportedRange range;
  uint64_t arenaId;
  uint64_t offset;
  void* mapping;  // nullptr: memory of this process
  size_t mappingBytes;
  int users;
};

struct ImportTable {
  std::mutex mutex;  // protects imports, and held while one is mapped; a leaf lock
  std::map<uintptr_t, Import> imports;
};

ImportTable& table() {
  static auto* imports = new ImportTable;  // never destroyed: streams may be busy at exit
  return *imports;
}

uintptr_t key(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool holds(int file, const HandleContent& content) {
  Arena::FileHead head{};
  if (pread(file, &head, sizeof head, 0) != sizeof head) return false;
  return head.magic == Arena::kFileMagic && head.id == content.arenaId;
}

bool fits(int file, const HandleContent& content) {
  struct stat status;
  if (fstat(file, &status) != 0) return false;
  const auto fileBytes = static_cast<uint64_t>(status.st_size);
  return content.bytes > 0 && content.offset < fileBytes && content.bytes <= fileBytes - content.offset;
}

cudaError_t mapImport(const HandleContent& content, Import& import) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", content.process, content.file);
  const File file(open(path, O_RDWR | O_CLOEXEC));
  if (file.get() < 0) {
    const int error = errno;
    std::snprintf(path, sizeof path, "/proc/%d", content.process);
    if (access(path, F_OK) != 0) {
      return failCall(cudaErrorMapBufferObjectFailed, "process %d, whose memory it is, is gone", content.process);
    }
    return failCall(cudaErrorMapBufferObjectFailed, "file %d of process %d cannot be opened: %s", content.file,
                    content.process, std::strerror(error));
  }
  if (!holds(file.get(), content) || !fits(file.get(), content)) {
    return failCall(cudaErrorMapBufferObjectFailed,
                    "process %d no longer holds that memory: it has ended and its number is used again",
                    content.process);
  }
  const uint64_t first = content.offset / kPage * kPage;
  const size_t bytes = static_cast<size_t>(content.offset + content.bytes - first);
  void* mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), static_cast<off_t>(first));
  if (mapping == MAP_FAILED) {
    return failCall(cudaErrorMapBufferObjectFailed, "mmap of %zu bytes: %s", bytes, std::strerror(errno));
  }
  import.mapping = mapping;
  import.mappingBytes = bytes;
  import.range.base = static_cast<char*>(mapping) + (content.offset - first);
  return cudaSuccess;
}

// Memory of this process: its own address, if it is still allocated.
cudaError_t findOwn(const HandleContent& content, Import& import) {
  for (Device* used : devicesInUse()) {
    if (!used->arena().holdsId(content.arenaId)) continue;
    char* address = used->arena().at(content.offset);
    const std::optional<Allocation> allocation = used->arena().find(address);
    if (!allocation || allocation->base != address || allocation->bytes != content.bytes) {
      return failCall(cudaErrorInvalidResourceHandle, "that memory of this process was freed");
    }
    import.range.base = address;
    return cudaSuccess;
  }
  return failCall(cudaErrorInvalidResourceHandle, "that memory of this process is not known");
}

}  // namespace

cudaError_t makeIpcHandle(const void* address, cudaIpcMemHandle_t& handle) {
  for (Device* used : devicesInUse()) {
    const std::optional<Allocation> allocation = used->arena().find(address);
    if (!allocation) continue;
    if (allocation->kind == AllocationKind::kManaged) {
      return failCall(cudaErrorInvalidValue, "managed memory has no handle");
    }
    HandleContent content{};
    content.magic = kHandleMagic;
    content.process = getpid();
    content.file = used->arena().file();
    content.device = used->index();
    content.arenaId = used->arena().id();
    content.offset = used->arena().offsetOf(allocation->base);
    content.bytes = allocation->bytes;
    content.check = checkOf(content);
    std::memcpy(handle.reserved, &content, sizeof content);
    return cudaSuccess;
  }
  return failCall(cudaErrorInvalidValue, "%p is not device memory of this process", address);
}

cudaError_t openIpcHandle(const cudaIpcMemHandle_t& handle, void*& address) {
  HandleContent content;
  std::memcpy(&content, handle.reserved, sizeof content);
  if (content.magic != kHandleMagic || content.check != checkOf(content)) {
    return failCall(cudaErrorInvalidResourceHandle, "not a handle of the emulated device");
  }
  ImportTable& imports = table();
  std::lock_guard lock(imports.mutex);
  for (auto& [base, import] : imports.imports) {
    if (import.arenaId != content.arenaId || import.offset != content.offset || import.range.bytes != content.bytes)
      continue;
    ++import.users;
    address = import.range.base;
    return cudaSuccess;
  }
  Import import{
      {nullptr, static_cast<size_t>(content.bytes), currentDevice()}, content.arenaId, content.offset, nullptr, 0, 1};
  const cudaError_t code = content.process == getpid() ? findOwn(content, import) : mapImport(content, import);
  if (code != cudaSuccess) return code;
  imports.imports[key(import.range.base)] = import;
  address = import.range.base;
  return cudaSuccess;
}

cudaError_t closeIpcHandle(void* address) {
  ImportTable& imports = table();
  Import closed;
  {
    std::lock_guard lock(imports.mutex);
    const auto entry = imports.imports.find(key(address));
    if (entry == imports.imports.end()) {
      return failCall(cudaErrorInvalidValue, "%p was not opened from a handle", address);
    }
    if (--entry->second.users > 0) return cudaSuccess;
    closed = entry->second;
    imports.imports.erase(entry);
  }
  if (closed.mapping != nullptr) releaseWhenIdle([closed] { munmap(closed.mapping, closed.mappingBytes); });
  return cudaSuccess;
}

std::optional<ImportedRange> findImport(const void* address) {
  ImportTable& imports = table();
  std::lock_guard lock(imports.mutex);
  auto entry = imports.imports.upper_bound(key(address));
  if (entry == imports.imports.begin()) return std::nullopt;
  --entry;
  if (key(address) - entry->first >= entry->second.range.bytes) return std::nullopt;
  return entry->second.range;
}

}  // namespace rondo::emu
