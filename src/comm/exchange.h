// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// An allGather of records during init that carries local failures along: if making the record fails on one rank, every
// rank gets an error that names the rank and its text, instead of waiting for a record that never comes.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "src/base/error.h"
#include "transport/bootstrap/bootstrap.h"

namespace rondo {

struct ExchangeStatus {
  int32_t code = ncclSuccess;
  char text[508] = {};
};

// What a rank's error is called on the others: wrong arguments and usage keep their code, the rest is ncclRemoteError.
ncclResult_t remoteCode(ncclResult_t code);

// Throws the error that 'failed' tells of: this rank's own as it is, another rank's with its remoteCode.
[[noreturn]] void failExchange(const std::vector<ExchangeStatus>& all, int rank);

// Record is trivially copyable. make() runs on this rank; the result has every rank's record.
template <class Record>
std::vector<Record> exchange(Bootstrap& bootstrap, const std::function<Record()>& make) {
  struct Entry {
    ExchangeStatus status;
    Record record;
  };
  static_assert(std::is_trivially_copyable_v<Record>);
  std::vector<Entry> all(static_cast<size_t>(bootstrap.size()));
  Entry& own = all[static_cast<size_t>(bootstrap.rank())];
  try {
    own.record = make();
  } catch (const Error& error) {
    own.status.code = error.code();
    std::strncpy(own.status.text, error.text().c_str(), sizeof(own.status.text) - 1);
  }
  bootstrap.allGather(all.data(), sizeof(Entry));
  std::vector<Record> records;
  std::vector<ExchangeStatus> states;
  bool failed = false;
  for (const Entry& entry : all) {
    records.push_back(entry.record);
    states.push_back(entry.status);
    failed = failed || entry.status.code != ncclSuccess;
  }
  if (failed) failExchange(states, bootstrap.rank());
  return records;
}

}  // namespace rondo
