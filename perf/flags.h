// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// Declares the flags of a perf program. CLI11 splits the command line; the values are judged here, so that every
// message names flag, value and allowed range alike. Made by the function that reads a command line, which also owns
// what the flags are stored in.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace perf {

// Throws UsageError unless `text` is a whole number from low to high.
long long parseInteger(const std::string& flag, const std::string& text, long long low, long long high);

class Flags {
 public:
  // Called with the flag's names, for messages, and its value.
  using Take = std::function<void(const std::string& flag, const std::string& text)>;

  explicit Flags(CLI::App& app) : app_(app) {}

  // The last of a repeated flag counts.
  void add(const std::string& names, Take take, const std::string& placeholder, const std::string& help);
  void addBytes(const std::string& names, uint64_t& target, const std::string& help);
  void addText(const std::string& names, std::string& target, const std::string& placeholder, const std::string& help);

  template <class Target>
  void addInteger(const std::string& names, Target& target, int low, int high, const std::string& help) {
    const auto take = [&target, low, high](const std::string& flag, const std::string& text) {
      target = static_cast<Target>(parseInteger(flag, text, low, high));
    };
    add(names, take, "N", help);
  }

 private:
  CLI::App& app_;
};

// Reads the command line. False: help was asked for, and is now in *help_text. Throws UsageError.
bool readCommandLine(CLI::App& app, int argc, const char* const* argv, std::string* help_text);

}  // namespace perf
