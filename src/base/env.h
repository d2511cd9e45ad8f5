// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Environment variables. A value comes from the environment, else from the file NCCL_CONF_FILE (default ~/.nccl.conf),
// else from /etc/nccl.conf (lines NAME=VALUE, # comments). Every variable Rondo reads is in one table (env.cc) with its
// meaning; an NCCL_* variable that is set but not in it is named once per process in the log. Any thread, as long as
// the program does not change its environment meanwhile. The environment is read at each call, the files once per
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::env {

// The variable's text; empty text counts as not set. name must be in the table.
std::optional<std::string> text(const char* name);

// The variable as a whole number in [min, max], plain or with K, M, G (binary). Otherwise throws
// Error(ncclInvalidArgument): "NCCL_X=value: must be a whole number from min to max".
// range, if given, is what the text says instead.
std::optional<int64_t> integer(const char* name, int64_t min, int64_t max, const std::string& range = {});

// 0 or 1.
bool flag(const char* name, bool otherwise);

// Logs once per process, at WARN, each NCCL_* variable that is set and not honoured, and what is wrong with the files.
// NCCL_TESTS_* belongs to perf.
void nameIgnored();

// The table: a line "NAME meaning" per variable.
std::string describeAll();

}  // namespace rondo::env
