// What the values of flags may be: numbers in a range, one of several names, names of what the program knows.
//
// Contract: a refusal is wrong usage; its message quotes what was found and says what is expected, in printable text.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/parameters.h"

namespace tandem::app {

// For transform(): the text becomes plain decimal digits, since the parser would read leading zeros as octal.
CLI::Validator whole(const WholeRange& range);
// The others are for check(). NaN is in no range.
CLI::Validator finite_range(double low, double high);
// What an Error of `judge` says is the refusal.
CLI::Validator accepted_by(std::string kind, std::function<void(const std::string&)> judge);
CLI::Validator device_id();  // of a kind that there is; whether the device is there is found out when it is opened
CLI::Validator plan_name();
// A name that is known, or a file by its ending; what is wrong with the file is found when it is read.
CLI::Validator chip_or_file();
CLI::Validator shape_or_file();
CLI::Validator storage_type();

CLI::Option* add_seed_flag(CLI::App& app, Seed& seed, const std::string& explains);  // -s, --seed
CLI::Option* add_threads_flag(CLI::App& app, int& threads);                          // -t, --threads

// A flag that takes one of several names, each of which stands for a value of `field`.
template <typename Value>
CLI::Option* add_named(CLI::App& app, const std::string& flag, Value& field,
                       const std::vector<std::pair<std::string, Value>>& values, const std::string& explains) {
  std::vector<std::string> names;
  std::string usual;
  for (const auto& [name, value] : values) {
    names.push_back(name);
    if (value == field) usual = name;
  }
  const auto take = [&field, values](const std::string& given) {
    for (const auto& [name, value] : values)
      if (name == given) field = value;
  };
  return app.add_option_function<std::string>(flag, take, explains)->check(CLI::IsMember(names))->default_str(usual);
}

bool is_given(const CLI::Option& option);  // on the command line; what the environment says is not

// After parsing: gives flags the values of their variables (envname()) that the parser has dropped. CLI11 from 2.4 on
// drops what a check refuses, and it checks a list before it is split. ParseError where a check refuses a value.
void take_dropped_variables(CLI::App& parsed);

}  // namespace tandem::app
