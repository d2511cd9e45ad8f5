// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "tests/emu/support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace rondo::emutest {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  std::vector<std::string> argumentTexts{RONDO_TEST_CHILD};
  argumentTexts.insert(argumentTexts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environmentTexts = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environmentTexts.emplace_back(*entry);
  // Made before the fork: the child of a process with threads may call little before exec.
  const std::vector<char*> argumentList = pointers(argumentTexts);
  const std::vector<char*> environmentList = pointers(environmentTexts);
  int toChild[2];
  int fromChild[2];
  if (pipe2(toChild, O_CLOEXEC) != 0 || pipe2(fromChild, O_CLOEXEC) != 0) abort();
  process_ = fork();
  if (process_ == 0) {
    dup2(toChild[0], STDIN_FILENO);
    dup2(fromChild[1], STDOUT_FILENO);
    execve(RONDO_TEST_CHILD, argumentList.data(), environmentList.data());
    _exit(127);
  }
  close(toChild[0]);
  close(fromChild[1]);
  input_ = toChild[1];
  output_ = fromChild[0];
}

Child::~Child() {
  close(input_);
  close(output_);
  if (ended_ || process_ < 0) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

bool Child::read(void* data, size_t bytes) {
  auto* position = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(output_, position, bytes);
    if (got <= 0) return false;
    position += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool Child::write(const void* data, size_t bytes) {
  return ::write(input_, data, bytes) == static_cast<ssize_t>(bytes);
}

void Child::kill(int signal) {
  ::kill(process_, signal);
}

int Child::wait(int timeout_ms) {
  for (int waited_ms = 0; waited_ms <= timeout_ms; ++waited_ms) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) {
      ended_ = true;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    usleep(1000);
  }
  return -1;
}

}  // namespace rondo::emutest
