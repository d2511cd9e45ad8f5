// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// How fast a libfabric provider carries bytes from one process to another: the reference for the fabric transport. Two
// processes: forked here, the parent being the receiver, or one started with --listen and one with --connect.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "error.h"
#include "fabric_stream_receiver.h"
#include "fabric_stream_report.h"
#include "fabric_stream_sender.h"

namespace perf {
namespace {

constexpr const char* kProgram = "fabric_stream";
constexpr int kUsageStatus = 2;
constexpr int kChildGraceMs = 3000;

int report(const std::string& text, int status) {
  std::fputs(fmt::format("{}: {}\n", kProgram, text).c_str(), stderr);
  return status;
}

// Runs one side. What goes wrong is told to the partner; `tells` says whether also to the user.
template <class Work>
int runSide(StreamLink& link, bool tells, Work work) {
  try {
    return work();
  } catch (const UsageError& error) {
    link.sendFailure(error.what());
    return tells ? report(error.what(), kUsageStatus) : kUsageStatus;
  } catch (const std::exception& error) {
    link.sendFailure(error.what());
    if (!tells) return EXIT_FAILURE;
    const auto reason = link.explainFailure();
    const bool is_news = reason && *reason != error.what();
    return report(is_news ? fmt::format("{} ({})", *reason, error.what()) : error.what(), EXIT_FAILURE);
  }
}

int runSender(const StreamOptions& options, StreamLink& link, bool tells) {
  return runSide(link, tells, [&] {
    StreamSender(options, link).run();
    return EXIT_SUCCESS;
  });
}

int runReceiver(const StreamOptions& options, StreamLink& link, StreamReport& table) {
  return runSide(link, true, [&] {
    try {
      StreamReceiver receiver(options, link);
      receiver.begin();
      table.begin(receiver.provider());
      for (const StreamCase& each : options.listCases()) table.add(receiver.runCase(each));
      receiver.finish();
    } catch (const std::exception& error) {
      table.fail(error.what());
      throw;
    }
    return table.finish() ? EXIT_SUCCESS : EXIT_FAILURE;
  });
}

// The link is closed by now, which ends the child; it gets a moment to take the provider's things away with it.
int endChild(pid_t child, int status) {
  int child_status = 0;
  for (int wait_ms = 0; waitpid(child, &child_status, WNOHANG) == 0; wait_ms += 10) {
    if (wait_ms == kChildGraceMs) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (status != EXIT_SUCCESS || child_status == 0) return status;
  return report(fmt::format("the sender ended with status {:#x}", child_status), EXIT_FAILURE);
}

int runBoth(const StreamOptions& options) {
  StreamReport table(options);
  const auto [mine, childs] = makeSocketPair();
  // Before anything of libfabric is started, which would not survive it.
  const pid_t child = fork();
  if (child < 0) return report(fmt::format("fork: {}", std::strerror(errno)), EXIT_FAILURE);
  if (child == 0) {
    close(mine);
    StreamLink link(childs, "the receiver", options.timeout_s);
    _exit(runSender(options, link, false));
  }
  close(childs);
  int status = EXIT_FAILURE;
  {
    StreamLink link(mine, fmt::format("the sender (process {})", child), options.timeout_s);
    status = runReceiver(options, link, table);
  }
  return endChild(child, status);
}

int runOne(const StreamOptions& options) {
  const HostPort& place = options.meeting_point;
  const std::string where = fmt::format("{}:{}", place.host, place.port);
  if (options.role == StreamRole::Sender) {
    StreamLink link(connectToPartner(place, options.timeout_s), "the receiver at " + where, options.timeout_s);
    return runSender(options, link, true);
  }
  StreamReport table(options);
  StreamLink link(listenForPartner(place, options.timeout_s), "the sender that came to " + where, options.timeout_s);
  return runReceiver(options, link, table);
}

int run(int argc, char** argv) {
  try {
    const StreamOptions options = parseStreamOptions(argc, argv);
    if (options.help) return std::fputs(options.help_text.c_str(), stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    return options.role == StreamRole::Both ? runBoth(options) : runOne(options);
  } catch (const UsageError& error) {
    return report(error.what(), kUsageStatus);
  } catch (const std::exception& error) {
    return report(error.what(), EXIT_FAILURE);
  }
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  return perf::run(argc, argv);
}
