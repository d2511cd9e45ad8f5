// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/comm/comm_handle.h"

#include <map>
#include <system_error>

#include "src/base/log.h"
#include "src/base/signals.h"
#include "src/comm/family.h"

namespace rondo {

CommHandle::~CommHandle() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void CommHandle::initialise() {
  try {
    auto communicator = std::make_shared<Communicator>(request_, cancelled_);
    family::add(communicator->id());
    std::lock_guard lock(mutex_);
    communicator_ = std::move(communicator);
  } catch (const Error& error) {
    std::lock_guard lock(mutex_);
    error_ = error;
    throw;
  } catch (const std::exception& error) {
    std::lock_guard lock(mutex_);
    error_ = Error(ncclSystemError, fmt::format("making a communicator: {}", error.what()));
    throw *error_;
  }
}

void CommHandle::startInitialise() {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] {
      try {
        initialise();
      } catch (const Error& error) {
        setLastError(error.text());
        RONDO_WARN("rank {}: {}", request_.rank, error.text());
      }
    });
  } catch (const std::system_error& error) {
    fail(ncclSystemError, "starting a thread for init: {}", error.what());
  }
}

std::shared_ptr<Communicator> CommHandle::ready() const {
  std::lock_guard lock(mutex_);
  if (error_) throw *error_;
  if (!communicator_) fail(ncclInvalidArgument, "communicator used before its initialisation has ended: ncclCommGetAsyncError says when");
  return communicator_;
}

ncclResult_t CommHandle::state() const {
  std::lock_guard lock(mutex_);
  if (error_) return error_->code();
  return communicator_ ? communicator_->asyncError() : ncclInProgress;
}

std::shared_ptr<Communicator> CommHandle::release() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  return std::move(communicator_);
}

void CommHandle::markFinalized() {
  if (finalized_.exchange(true)) fail(ncclInvalidArgument, "communicator finalized twice");
}

namespace registry {
namespace {

struct State {
  std::mutex mutex;  // protects the rest; a leaf lock
  std::map<ncclComm_t, std::shared_ptr<CommHandle>> handles;
  uintptr_t next = 0x1000;
};

State& state() {
  static auto* only = new State;  // never destroyed: see family.cc
  return *only;
}

std::map<ncclComm_t, std::shared_ptr<CommHandle>>::iterator locate(ncclComm_t comm, const char* function) {
  if (comm == nullptr) fail(ncclInvalidArgument, "{}: comm is NULL", function);
  const auto found = state().handles.find(comm);
  if (found == state().handles.end())
    fail(ncclInvalidArgument, "{}: comm {} is not a communicator, or was destroyed", function, static_cast<void*>(comm));
  return found;
}

}  // namespace

ncclComm_t add(std::shared_ptr<CommHandle> handle) {
  std::lock_guard lock(state().mutex);
  const auto comm = reinterpret_cast<ncclComm_t>(state().next);
  state().next += 16;
  state().handles.emplace(comm, std::move(handle));
  return comm;
}

std::shared_ptr<CommHandle> find(ncclComm_t comm, const char* function) {
  std::lock_guard lock(state().mutex);
  return locate(comm, function)->second;
}

std::shared_ptr<CommHandle> remove(ncclComm_t comm, const char* function) {
  std::lock_guard lock(state().mutex);
  const auto found = locate(comm, function);
  auto handle = std::move(found->second);
  state().handles.erase(found);
  return handle;
}

}  // namespace registry
}  // namespace rondo
