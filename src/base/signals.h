// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Signals belong to the program's threads: its handlers shall neither interrupt the library's threads nor run on the small
// stacks of emulated lanes.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rondo {

// Held while a thread is started, which inherits the mask. Signals that a thread raises by its own doing stay open.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace rondo
