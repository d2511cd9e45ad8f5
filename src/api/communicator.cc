// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The C API's communicators: version, unique id, init, finalize, destroy, abort, queries.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/runtime/runtime.h"
#include "src/api/config.h"
#include "src/api/guard.h"
#include "src/comm/comm_handle.h"
#include "src/comm/family.h"
#include "src/comm/group.h"
#include "transport/bootstrap/bootstrap.h"

namespace rondo {
namespace {

void checkRank(int ranks, int rank) {
  if (ranks < 1) fail(ncclInvalidArgument, "nranks {}: must be at least 1", ranks);
  if (rank < 0 || rank >= ranks) fail(ncclInvalidArgument, "rank {}: must be from 0 to {}", rank, ranks - 1);
}

void initRank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* config) {
  requirePointer(comm, "comm");
  if (!group::active()) *comm = nullptr;
  checkRank(ranks, rank);
  const InitRequest request{id, ranks, rank, runtime::currentDevice(), readConfig(config)};
  group::addInit(std::make_shared<CommHandle>(request), comm);
}

// The caller's struct may be that of an older header.
rondoBootstrap_t readBootstrap(const rondoBootstrap_t* given) {
  requirePointer(given, "bootstrap");
  if (given->size < offsetof(rondoBootstrap_t, errorText))
    fail(ncclInvalidArgument, "bootstrap.size={}: must be sizeof(rondoBootstrap_t), at least {}", given->size,
         offsetof(rondoBootstrap_t, errorText));
  rondoBootstrap_t result{};
  std::memcpy(&result, given, std::min(given->size, sizeof(result)));
  if (result.allGather == nullptr) fail(ncclInvalidArgument, "bootstrap.allGather is NULL");
  return result;
}

// The bootstrap's functions are the calling thread's, so that init cannot wait for the end of a group.
void initWith(ncclComm_t* comm, int ranks, int rank, const rondoBootstrap_t* bootstrap, const ncclConfig_t* config) {
  requirePointer(comm, "comm");
  *comm = nullptr;
  if (group::active())
    fail(ncclInvalidUsage,
         "not allowed between ncclGroupStart and ncclGroupEnd: use ncclCommInitRankConfig in a group");
  checkRank(ranks, rank);
  const InitRequest request{{}, ranks, rank, runtime::currentDevice(), readConfig(config), readBootstrap(bootstrap)};
  const auto handle = std::make_shared<CommHandle>(request);
  handle->initialise();
  *comm = registry::add(handle);
}

void initAll(ncclComm_t* comms, int ndev, const int* devlist) {
  requirePointer(comms, "comm");
  const int devices = runtime::deviceCount();
  if (ndev < 1) fail(ncclInvalidArgument, "ndev {}: must be at least 1", ndev);
  for (int i = 0; i < ndev; ++i) {
    const int device = devlist != nullptr ? devlist[i] : i;
    if (device < 0 || device >= devices)
      fail(ncclInvalidArgument, "device {} of rank {}: must be from 0 to {}", device, i, devices - 1);
  }
  const ncclUniqueId id = createUniqueId();
  group::start();
  for (int i = 0; i < ndev; ++i) {
    const InitRequest request{id, ndev, i, devlist != nullptr ? devlist[i] : i, readConfig(nullptr)};
    group::addInit(std::make_shared<CommHandle>(request), &comms[i]);
  }
  group::end();
}

void finalize(const std::shared_ptr<CommHandle>& handle) {
  const auto communicator = handle->ready();
  handle->markFinalized();
  communicator->flush();
  communicator->leave();
}

}  // namespace
}  // namespace rondo

using rondo::guarded;
using rondo::requirePointer;
namespace registry = rondo::registry;

RONDO_API ncclResult_t ncclGetVersion(int* version) {
  return guarded("ncclGetVersion", [&] {
    requirePointer(version, "version");
    *version = NCCL_VERSION_CODE;
  });
}

RONDO_API ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guarded("ncclGetUniqueId", [&] {
    requirePointer(uniqueId, "uniqueId");
    *uniqueId = rondo::createUniqueId();
  });
}

RONDO_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return guarded("ncclCommInitRank", [&] { rondo::initRank(comm, nranks, commId, rank, nullptr); });
}

RONDO_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                              ncclConfig_t* config) {
  bool blocking = true;
  const ncclResult_t result = guarded("ncclCommInitRankConfig", [&] {
    blocking = rondo::readConfig(config).blocking;
    rondo::initRank(comm, nranks, commId, rank, config);
  });
  return result == ncclSuccess && !blocking ? ncclInProgress : result;
}

RONDO_API ncclResult_t rondoCommInitWith(ncclComm_t* comm, int nranks, int rank, const rondoBootstrap_t* bootstrap,
                                         ncclConfig_t* config) {
  return guarded("rondoCommInitWith", [&] { rondo::initWith(comm, nranks, rank, bootstrap, config); });
}

RONDO_API ncclResult_t rondoReportError(ncclResult_t code, const char* text) {
  const bool isError = code > ncclSuccess && code < ncclInProgress;
  const rondo::Error error(isError ? code : ncclInternalError, text != nullptr ? text : "an error without text");
  rondo::setLastError(error.text());
  RONDO_WARN("{}", error.text());
  rondo::group::noteError(error);
  return error.code();
}

RONDO_API ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return guarded("ncclCommInitAll", [&] { rondo::initAll(comm, ndev, devlist); });
}

RONDO_API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guarded("ncclCommFinalize", [&] { rondo::finalize(registry::find(comm, "comm")); });
}

RONDO_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guarded("ncclCommDestroy", [&] {
    const auto communicator = registry::remove(comm, "comm")->release();
    if (!communicator) return;  // init failed or was given up: nothing to free
    if (communicator->asyncError() == ncclSuccess) {
      rondo::family::retire(communicator);
    } else {
      rondo::family::retireAborted(communicator);  // peers may be gone: do not wait for them
    }
  });
}

RONDO_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guarded("ncclCommAbort", [&] {
    const auto communicator = registry::remove(comm, "comm")->release();
    if (communicator) rondo::family::retireAborted(communicator);
  });
}

RONDO_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guarded("ncclCommGetAsyncError", [&] {
    requirePointer(asyncError, "asyncError");
    *asyncError = registry::find(comm, "comm")->state();
  });
}

RONDO_API ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return guarded("ncclCommCount", [&] {
    requirePointer(count, "count");
    *count = registry::find(comm, "comm")->ready()->size();
  });
}

RONDO_API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return guarded("ncclCommCuDevice", [&] {
    requirePointer(device, "device");
    *device = registry::find(comm, "comm")->ready()->device();
  });
}

RONDO_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return guarded("ncclCommUserRank", [&] {
    requirePointer(rank, "rank");
    *rank = registry::find(comm, "comm")->ready()->rank();
  });
}

RONDO_API ncclResult_t ncclGroupStart() {
  rondo::group::start();
  return ncclSuccess;
}

RONDO_API ncclResult_t ncclGroupEnd() {
  return guarded("ncclGroupEnd", [] { rondo::group::end(); });
}
