// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <dlfcn.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "transport/fabric/module_finder.h"

namespace rondo::fabric {
namespace {

constexpr const char* kFile = "librondo_fabric.so";

// The folders to look in: what the user says, else that of this code, and lib/ next to it for programs that hold the
// library's objects themselves.
std::vector<std::string> folders() {
  if (const auto given = env::text("RONDO_MODULE_DIR")) return {*given};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&findModule), &info) == 0 || info.dli_fname == nullptr) return {"."};
  const std::string self = info.dli_fname;
  const size_t slash = self.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : self.substr(0, slash);
  return {folder, folder + "/../lib"};
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

[[noreturn]] void failMissing(const std::vector<std::string>& looked) {
  std::string list;
  for (const std::string& folder : looked) list += (list.empty() ? "" : ", ") + folder;
  fail(ncclSystemError, "ranks of different hosts (or NCCL_P2P_DISABLE=1) need the network module {}, which is not in {} "
       "(RONDO_MODULE_DIR names another folder)", kFile, list);
}

}  // namespace

const ModuleTable& findModule() {
  const auto looked = folders();
  for (const std::string& folder : looked) {
    const std::string path = folder + "/" + kFile;
    if (!exists(path)) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    // dlerror's text names the missing library, libfabric.so.1 most of the time.
    if (handle == nullptr) fail(ncclSystemError, "cannot load the network module: {}", dlerror());
    auto* function = reinterpret_cast<decltype(&rondoFabricModule)>(dlsym(handle, "rondoFabricModule"));
    const ModuleTable* table = function != nullptr ? function(kModuleVersion) : nullptr;
    if (table == nullptr) {
      dlclose(handle);
      fail(ncclSystemError, "the network module {} is of another version of Rondo", path);
    }
    log::info(log::kInit | log::kNet, "NET/Fabric: loaded {}", path);
    return *table;
  }
  failMissing(looked);
}

}  // namespace rondo::fabric
