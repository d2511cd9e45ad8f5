// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The files that the shm provider makes in /dev/shm, one per endpoint. A process that is killed leaves them behind; their
// names say whose they were, so that a survivor or the next process can remove them. Any thread.
#pragma once

#include <string>

namespace rondo::fabric {

// A name that nobody else uses: rondo-<pid namespace>-<pid>-<start time>-<number>.
std::string newShmName();

// The file of an endpoint, by the name that the provider gives it: "fi_shm://rondo-...".
void removeShmFile(const std::string& endpointName);

// For errors of the shm provider, which says no more than that it is not there when /dev/shm is too small for it: how
// much room there is, what it wants, and what to do.
std::string describeShmRoom();

// Removes the files of processes of this pid namespace that have ended.
void removeStaleShmFiles();

}  // namespace rondo::fabric
