// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "flags.h"

#include <charconv>

#include "error.h"
#include "sizes.h"

namespace perf {

long long parseInteger(const std::string& flag, const std::string& text, long long low, long long high) {
  long long value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    failUsage("{} {}: must be a whole number from {} to {}", flag, text, low, high);
  }
  return value;
}

void Flags::add(const std::string& names, Take take, const std::string& placeholder, const std::string& help) {
  app_.add_option_function<std::string>(
          names, [names, take = std::move(take)](const std::string& text) { take(names, text); }, help)
      ->take_last()
      ->type_name(placeholder);
}

void Flags::addBytes(const std::string& names, uint64_t& target, const std::string& help) {
  add(
      names, [&target](auto& flag, auto& text) { target = parseBytes(flag, text); }, "BYTES", help);
}

void Flags::addText(const std::string& names, std::string& target, const std::string& placeholder,
                    const std::string& help) {
  add(
      names, [&target](auto&, auto& text) { target = text; }, placeholder, help);
}

bool readCommandLine(CLI::App& app, int argc, const char* const* argv, std::string* help_text) {
  app.set_help_flag("-h,--help", "this text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    *help_text = app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    failUsage("{} (-h lists the flags)", error.what());
  }
  return true;
}

}  // namespace perf
