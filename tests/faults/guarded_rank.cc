// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "guarded_rank.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <stdexcept>

namespace rondo::test {

namespace {
constexpr int kSilenceMilliseconds = 60000;
}

bool Line::hasNews() const {
  pollfd entry{fd_, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

void Line::tell(const void* data, size_t bytes) const {
  const auto* next = static_cast<const char*>(data);
  for (ssize_t n; bytes > 0; next += n, bytes -= static_cast<size_t>(n))
    if ((n = send(fd_, next, bytes, MSG_NOSIGNAL)) <= 0) throw std::runtime_error("the other side has ended");
}

void Line::hear(void* data, size_t bytes) const {
  auto* next = static_cast<char*>(data);
  for (ssize_t n; bytes > 0; next += n, bytes -= static_cast<size_t>(n)) {
    pollfd entry{fd_, POLLIN, 0};
    if (poll(&entry, 1, kSilenceMilliseconds) != 1) throw std::runtime_error("no answer for 60 s");
    if ((n = recv(fd_, next, bytes, 0)) <= 0) throw std::runtime_error("the other side has ended");
  }
}

GuardedRank::GuardedRank(const std::string& name, const std::function<void(const Line&)>& body) : name_(name) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) {
    close(ends[1]);
    line_ = Line(ends[0]);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[0]);
  int status = 0;
  try {
    body(Line(ends[1]));
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", name.c_str(), error.what());
    status = 1;
  }
  std::fflush(nullptr);
  _exit(status);
}

GuardedRank::~GuardedRank() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(line_.fd());
}

int GuardedRank::descriptors() const {
  std::error_code error;
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid_) + "/fd", error);
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

void GuardedRank::finish() {
  line_.hear<char>();  // its last word
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (status != 0) throw std::runtime_error(name_ + " ended with status " + std::to_string(status));
}

}  // namespace rondo::test
