// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Strangers: connections to listening ports by somebody who is no rank. They say nothing, or something wrong, or go at
// once. Belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace rondo::test {

class Crowd {
 public:
  explicit Crowd(std::vector<uint16_t> ports) : ports_(std::move(ports)) {}
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // One more stranger, of the next kind, at the next of the ports on 127.0.0.1.
  void call();

  int called() const { return called_; }
  int refused() const { return refused_; }  // nobody listened

 private:
  int connect(uint16_t port);
  bool speak(int fd, int kind);
  void keep(int fd);

  const std::vector<uint16_t> ports_;
  std::deque<int> kept_;  // connections that stay open, as long as there are descriptors
  int called_ = 0;
  int refused_ = 0;
};

// The ports on which a process listens on 127.0.0.1.
std::vector<uint16_t> listeningPorts(int pid);

}  // namespace rondo::test
