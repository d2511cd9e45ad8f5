// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The bootstrap by the program's own functions (rondoBootstrap_t), such as MPI's. On the thread that made it.
#include "src/base/error.h"
#include "transport/bootstrap/bootstrap.h"

namespace rondo {

namespace {

class CallbackBootstrap : public Bootstrap {
 public:
  CallbackBootstrap(const rondoBootstrap_t& functions, int rank, int ranks)
      : functions_(functions), rank_(rank), ranks_(ranks) {}

  int rank() const override { return rank_; }
  int size() const override { return ranks_; }

  void allGather(void* all, size_t bytesPerRank) override {
    const int code = functions_.allGather(functions_.context, all, bytesPerRank);
    if (code == 0) return;
    const char* text = functions_.errorText != nullptr ? functions_.errorText(functions_.context, code) : nullptr;
    fail(ncclRemoteError, "rank {}: the bootstrap's allGather of {} bytes per rank failed with {}{}{}", rank_,
         bytesPerRank, code, text != nullptr ? ": " : "", text != nullptr ? text : "");
  }

 private:
  const rondoBootstrap_t functions_;
  const int rank_;
  const int ranks_;
};

}  // namespace

std::unique_ptr<Bootstrap> makeCallbackBootstrap(const rondoBootstrap_t& functions, int rank, int ranks) {
  return std::make_unique<CallbackBootstrap>(functions, rank, ranks);
}

}  // namespace rondo
