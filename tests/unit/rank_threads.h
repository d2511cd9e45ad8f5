// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Runs ranks as threads of one process and collects what each of them threw.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"

namespace rondo::test {

using Errors = std::vector<std::optional<Error>>;

inline Errors runRanks(int ranks, const std::function<void(int)>& body) {
  Errors errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = error;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline void expectNoErrors(const Errors& errors) {
  for (size_t rank = 0; rank < errors.size(); ++rank)
    EXPECT_FALSE(errors[rank].has_value()) << "rank " << rank << ": " << errors[rank]->text();
}

// Every rank has an error of this code whose text contains part.
inline void expectEveryError(const Errors& errors, ncclResult_t code, const std::string& part) {
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    ASSERT_TRUE(errors[rank].has_value()) << "rank " << rank << " has no error; expected: " << part;
    EXPECT_EQ(errors[rank]->code(), code) << errors[rank]->text();
    EXPECT_NE(errors[rank]->text().find(part), std::string::npos) << errors[rank]->text();
  }
}

inline int countEntries(const char* path) {
  int count = 0;
  DIR* directory = opendir(path);
  while (directory != nullptr && readdir(directory) != nullptr) ++count;
  if (directory != nullptr) closedir(directory);
  return count;
}

inline int countDescriptors() {
  return countEntries("/proc/self/fd");
}
inline int countThreads() {
  return countEntries("/proc/self/task");
}

// Threads of this process with this name.
inline int countThreads(const std::string& name) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(entry.path() / "comm") >> std::ws, found);
    count += found == name;
  }
  return count;
}

// Waits up to ten seconds for something that another thread brings about.
inline bool waitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace rondo::test
