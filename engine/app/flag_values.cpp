#include "engine/app/flag_values.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "engine/device/device_id.h"
#include "engine/device/registry.h"
#include "engine/model/shapes.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/strategy.h"
#include "engine/run/machine/expert_budget.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// The user's text in quotes, cut to the length that a message can hold.
std::string as_written(const std::string& text) { return "'" + text.substr(0, 80) + "'"; }

// The reason why the text names no possible device; "": it names one. Prefix and parameters are compared with
// the factories.
std::string problem_of_device(const std::string& text) {
  const auto id = parse_device_id(devices_of_range(text).front());
  if (!id) return as_written(text) + " is no device id (opencl:0, vulkan:0, npu:0, npu:0?params=FILE, host)";
  std::string kinds;
  for (const DeviceFactory& factory : device_factories()) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(factory.prefix);
    if (id->prefix != factory.prefix) continue;
    for (const auto& [name, value] : id->parameters) {
      if (std::ranges::find(factory.parameters, name) == factory.parameters.end())
        return as_written(text) + ": " + factory.prefix + " has no parameter " + as_written(name);
      if (value.empty()) return as_written(text) + ": the parameter " + as_written(name) + " has no value";
    }
    return "";
  }
  return "there is no kind of device " + as_written(id->prefix) + " (" + kinds + ")";
}

}  // namespace

// The text becomes the plain form of its number, so the parser reads the same value as the check.
CLI::Validator whole(const WholeRange& range) {
  return {[range](std::string& text) -> std::string {
            const auto value = read_whole(text, range);
            if (!value) return as_written(text) + " is not " + to_string(range);
            text = std::to_string(*value);
            return "";
          },
          std::to_string(range.least) + ".." + std::to_string(range.most), "whole number"};
}

// A stream prints limits in their short form, 0.01 and 100, which std::to_string() does not.
CLI::Validator finite_range(double low, double high) {
  return {[low, high](const std::string& text) -> std::string {
            if (read_number(text, low, high)) return "";
            std::ostringstream message;
            message << as_written(text) << " is not a number from " << low << " to " << high;
            return message.str();
          },
          "", "finite range"};
}

// Turns a function that throws into a validator of the parser.
CLI::Validator accepted_by(std::string kind, std::function<void(const std::string&)> judge) {
  return {[judge = std::move(judge)](const std::string& text) -> std::string {
            try {
              judge(text);
              return "";
            } catch (const Error& error) {
              return error.what();
            }
          },
          std::move(kind)};
}

// Only the text is checked. Whether such a device is present turns out when devices are opened.
CLI::Validator device_id() {
  return {[](const std::string& text) { return problem_of_device(text); }, "ID", kDeviceId};
}

CLI::Validator plan_name() {
  return accepted_by("",
                     [](const std::string& name) {
                       if (name != "list") chosen_strategy(name);  // `list` ends the program with an answer of its own
                     })
      .name(kPlanName);
}

// A file is read by the command that uses it, and a name must be one of the built-in profiles.
CLI::Validator chip_or_file() {
  return accepted_by("NAME|FILE.json",
                     [](const std::string& text) {
                       if (!text.ends_with(".json")) soc_profile(text);
                     })
      .name(kChip);
}

CLI::Validator shape_or_file() {
  return accepted_by("NAME|FILE",
                     [](const std::string& text) {
                       if (!text.ends_with(".json") && !text.ends_with(".gguf")) model_shape(text);
                     })
      .name(kShape);
}

CLI::Validator storage_type() {
  return accepted_by("TYPE", [](const std::string& name) { storage_type_named(name); }).name(kStorageType);
}

// The check runs before the callback, so the callback's seed always has a value. With -1 each of them draws a number,
// and only the callback's number is used.
CLI::Option* add_seed_flag(CLI::App& app, Seed& seed, const std::string& explains) {
  return app
      .add_option_function<std::string>(
          "-s,--seed", [&seed](const std::string& text) { seed = *read_seed(text); },
          explains + "; -1: a random one, which is shown")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return read_seed(text) ? std::string() : as_written(text) + " is no seed: " + kSeedRange;
          },
          "SEED"))
      ->default_str(std::to_string(seed.value));
}

CLI::Option* add_threads_flag(CLI::App& app, int& threads) {
  return app.add_option("-t,--threads", threads, "cores to use; 0: all")
      ->transform(whole(kThreadsRange))
      ->capture_default_str();
}

CLI::Option* add_budget_flag(CLI::App& app, const std::string& flag, ExpertBudget& budget, const std::string& explains,
                             bool bare_gib) {
  const std::string forms = bare_gib ? "auto, 25%, 512MiB, 2GiB or 2 (GiB)" : "auto, 25%, 512MiB or 2GiB";
  const auto check = [bare_gib, forms](const std::string& text) {
    return read_expert_budget(text, bare_gib) ? std::string() : as_written(text) + " is no budget (" + forms + ")";
  };
  const auto take = [&budget, bare_gib](const std::string& text) { budget = *read_expert_budget(text, bare_gib); };
  return app.add_option_function<std::string>(flag, take, explains)
      ->check(CLI::Validator(check, "BUDGET"))
      ->default_str("auto");
}

// The parser does not say where a value comes from. A value that equals the variable counts as coming from it. The
// parser has split a list into its elements, so they are joined before the comparison.
bool is_given(const CLI::Option& option) {
  if (option.count() == 0) return false;
  const char* environment = option.get_envname().empty() ? nullptr : std::getenv(option.get_envname().c_str());
  if (environment == nullptr) return true;
  std::string results;  // a list that was split
  for (const std::string& one : option.results())
    results += (results.empty() ? "" : std::string(1, option.get_delimiter())) + one;
  return results != environment;
}

// Only options without a result are looked at, so the command line takes precedence. Sub-commands follow.
void take_dropped_variables(CLI::App& parsed) {
  for (CLI::Option* option : parsed.get_options()) {
    if (option->count() > 0 || option->get_envname().empty()) continue;
    const char* value = std::getenv(option->get_envname().c_str());
    if (value == nullptr || *value == '\0') continue;
    option->add_result(value);
    option->run_callback();
  }
  for (CLI::App* command : parsed.get_subcommands()) take_dropped_variables(*command);
}

}  // namespace tandem::app
