// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Runs a function in a forked child: for tests of what a process reads once, prints, or leaves behind when it dies. The
// child ends with _exit; a failed EXPECT in it shows as exit status 1.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace rondo::test {

class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void()>& body) {
    int out[2], err[2];
    if (pipe(out) != 0 || pipe(err) != 0) throw std::runtime_error("pipe");
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      for (const int fd : {out[0], out[1], err[0], err[1]}) close(fd);
      run(body);
    }
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }

  ~ChildProcess() {
    if (!ended_) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    close(out_);
    close(err_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }

  // The exit status, or 128 + the signal.
  int wait() {
    if (ended_) return status_;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0) {
    }
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
  }

  // Until the child closes it. Short outputs only: the child blocks when the pipe is full.
  std::string output() { return readAll(out_); }
  std::string errors() { return readAll(err_); }
  std::string readLine() {
    std::string line;
    for (char c = 0; read(out_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

 private:
  [[noreturn]] static void run(const std::function<void()>& body) {
    int status = 0;
    try {
      body();
      if (testing::Test::HasFailure()) status = 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "exception: %s\n", error.what());
      status = 1;
    }
    std::fflush(nullptr);
    _exit(status);
  }

  static std::string readAll(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
    return text;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool ended_ = false;
  int status_ = -1;
};

// Runs body in a child and expects it to succeed; its standard output, or its errors.
struct ChildOutput {
  std::string output;
  std::string errors;
};
inline ChildOutput runInChild(const std::function<void()>& body) {
  ChildProcess child(body);
  ChildOutput result{child.output(), child.errors()};
  EXPECT_EQ(child.wait(), 0) << result.output << result.errors;
  return result;
}

inline std::vector<std::string> splitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace rondo::test
