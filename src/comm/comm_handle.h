// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What an ncclComm_t stands for: a communicator, or one that is still being made (non-blocking init), or the error that
// making it ended with. The registry turns the opaque handle into it; handles are numbers that are never used twice, so a
// handle that was destroyed is recognised. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace rondo {

class CommHandle {
 public:
  explicit CommHandle(const InitRequest& request) : request_(request) {}
  ~CommHandle();

  const InitRequest& request() const { return request_; }

  void initialise();       // on the calling thread; throws what went wrong and keeps it
  void startInitialise();  // on a thread of its own; the result is kept

  // The ready communicator; throws if it is not ready, or the error that making it ended with.
  std::shared_ptr<Communicator> ready() const;
  ncclResult_t state() const;

  // Makes an init in progress end with an error.
  void cancel() { cancelled_ = true; }

  // Ends an init in progress and gives up the communicator, if there is one.
  std::shared_ptr<Communicator> release();

  // Marks the communicator as finalized; throws if it was before.
  void markFinalized();
  bool finalized() const { return finalized_; }

 private:
  const InitRequest request_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> finalized_{false};
  mutable std::mutex mutex_;  // protects the rest but thread_
  std::shared_ptr<Communicator> communicator_;
  std::optional<Error> error_;
  std::thread thread_;  // startInitialise's
};

namespace registry {
ncclComm_t add(std::shared_ptr<CommHandle> handle);
// Throws Error(ncclInvalidArgument) for NULL and for handles that are not (or no longer) known.
std::shared_ptr<CommHandle> find(ncclComm_t comm, const char* function);
std::shared_ptr<CommHandle> remove(ncclComm_t comm, const char* function);
}  // namespace registry

}  // namespace rondo
