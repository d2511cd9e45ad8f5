// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// A communicator: one rank's membership. Made by one thread (init is a collective), then used by any thread. Calls take
// effect in the order in which they take its mutex. Owned by its CommHandle, and after Destroy or Abort by its Family
// until no peer needs its memory any more.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/runtime/runtime.h"
#include "device/shared/work.h"
#include "src/comm/hang_watch.h"
#include "src/comm/report.h"
#include "src/comm/wiring.h"
#include "src/plan/plan.h"
#include "src/plan/settings.h"
#include "src/topology/topology.h"
#include "transport/bootstrap/bootstrap.h"
#include "transport/bootstrap/control.h"

namespace rondo {

// What ncclConfig_t says, with 0 for what is not given.
struct CommConfig {
  bool blocking = true;
  int minChannels = 0;
  int maxChannels = 0;
  bool checkPointers = false;  // NCCL_CHECK_POINTERS
};

struct InitRequest {
  ncclUniqueId id;
  int ranks;
  int rank;
  int device;
  CommConfig config;
  std::optional<rondoBootstrap_t> bootstrap = {};  // used instead of the id, during init
};

struct StreamCall {
  Call call;
  runtime::Stream stream;
};

// RONDO_CALL_TIMEOUT; 0: no limit. Throws Error(ncclInvalidArgument) when it is out of range.
std::chrono::seconds readCallTimeout();

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  // Joins the other ranks; ends early with an error once 'cancelled' is true.
  Communicator(const InitRequest& request, const std::atomic<bool>& cancelled);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return ranks_; }
  int device() const { return device_; }
  uint64_t id() const { return id_; }
  bool checksPointers() const { return config_.checkPointers; }

  // A checked call: taken up by the calling thread's open group, else launched. Throws; a communicator that has failed
  // refuses with its first error.
  void enqueue(const StreamCall& call);
  // Launches calls in order.
  void launch(const std::vector<StreamCall>& calls);

  // The first error, ncclSuccess if there is none.
  ncclResult_t asyncError() const;
  void throwIfFailed() const;
  // What this rank's kernels wait for; see Report.
  std::string describeWaits() const { return report_->describeWaits(); }

  // The host waits until everything enqueued has ended.
  void flush();

  // Ends running kernels and tells the other ranks.
  void abort();

  // This rank will touch no peer's memory any more. Then: have all ranks said so?
  void leave();
  bool allLeft() const;
  void waitAllLeft();

 private:
  void meet(Bootstrap& bootstrap, const AbortPredicate& aborted);
  void join(Bootstrap& bootstrap, const AbortPredicate& aborted);
  void connect(Bootstrap& bootstrap, const Topology& topology, const AbortPredicate& aborted);
  void enter();
  void fail(ncclResult_t code, const std::string& text);
  void checkReport();
  void watchWaits();
  void hearNote(int rank, const std::vector<char>& content);
  void raiseHang(const RankStatus& own, HangWatch::Clock::time_point now);
  RankStatus status(const std::vector<PublishedWait>& waits, bool isAsking) const;
  void tellStatus(const RankStatus& status);
  void copyLocally(const StreamCall& call);
  KernelArgs planBatch(const std::vector<StreamCall>& calls, size_t& next);
  void logCall(const StreamCall& call);
  DeviceLimits deviceLimits() const;

  const int rank_;
  const int ranks_;
  const int device_;
  const CommConfig config_;
  uint64_t id_ = 0;  // random, the same on all ranks
  Settings settings_{};
  Ring ring_;
  std::unique_ptr<Report> report_;
  runtime::DeviceMemory channels_;  // ChannelState per channel

  std::mutex mutex_;  // protects what follows; taken before errorMutex_
  uint64_t sequence_ = 0;
  runtime::Stream lastStream_ = nullptr;
  bool launched_ = false;
  std::unique_ptr<runtime::Event> lastLaunch_;

  mutable std::mutex errorMutex_;  // protects error_ and errorText_; a leaf lock
  ncclResult_t error_ = ncclSuccess;
  std::string errorText_;
  bool entered_ = false;  // init is over: until then its thread tells the error
  bool mismatchRaised_ = false;  // service thread only
  std::unique_ptr<HangWatch> hangWatch_;  // likewise, once controlReady_
  std::atomic<bool> controlReady_{false};  // the callbacks of control_ may use it and the report

  std::unique_ptr<ControlPlane> control_;  // its callbacks use what stands above
  std::unique_ptr<Wiring> wiring_;         // last: its network reports errors to control_
};

}  // namespace rondo
