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

// Removes the files of processes of this pid namespace that have ended.
void removeStaleShmFiles();

}  // namespace rondo::fabric
