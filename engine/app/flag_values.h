// Checks values of flags: numbers in a range, one of several names, and names that the program knows.
//
// Contract: a refusal is wrong usage. Its message quotes the value and says what is expected, in printable text.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/parameters.h"

namespace tandem::app {

// For transform(). The text becomes plain decimal digits, because the parser would read leading zeros as octal.
CLI::Validator whole(const WholeRange& range);
// The others are for check(). NaN is outside every range.
CLI::Validator finite_range(double low, double high);
// Refuses values for which `judge` throws an Error; its text is the refusal.
CLI::Validator accepted_by(std::string kind, std::function<void(const std::string&)> judge);
// The names of these validators. Completion looks them up (engine/app/completion.h).
inline constexpr const char *kDeviceId = "device", *kPlanName = "plan", *kChip = "chip", *kShape = "shape",
                            *kStorageType = "storage type";
CLI::Validator device_id();  // its kind must exist; whether the device exists is only known when it is opened
CLI::Validator plan_name();
// A known name, or a file, which is recognised by its ending. The file's content is checked when it is read.
CLI::Validator chip_or_file();
CLI::Validator shape_or_file();
CLI::Validator storage_type();

CLI::Option* add_seed_flag(CLI::App& app, Seed& seed, const std::string& explains);  // -s, --seed
CLI::Option* add_threads_flag(CLI::App& app, int& threads);                          // -t, --threads

// A flag that takes one of several names. Each name stands for a value of `field`.
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

// A budget for experts: auto, a share of 100 (25%), or bytes (512MiB, 2GiB). bare_gib: a number alone counts GiB.
CLI::Option* add_budget_flag(CLI::App& app, const std::string& flag, ExpertBudget& budget, const std::string& explains,
                             bool bare_gib = false);

bool is_given(const CLI::Option& option);  // on the command line; a value from the environment does not count

// Called after parsing. Gives flags the values of their variables (envname()) that the parser has dropped. CLI11
// from 2.4 on drops a value that a check refuses, and it checks a list before splitting it. ParseError if a check
// refuses a value.
void take_dropped_variables(CLI::App& parsed);

}  // namespace tandem::app
