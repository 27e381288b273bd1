#include "engine/run/log_levels.h"

#include <spdlog/cfg/helpers.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace tandem {
namespace {

constexpr const char* kLevels[] = {"trace", "debug", "info", "warn", "warning", "error", "err", "critical", "off"};

// The text as the library reads it: case and surrounding blanks do not matter.
std::string trimmed_lower(std::string text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::ranges::find_if_not(text, blank));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), blank).base(), text.end());
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

// The text is a list of levels, each for all loggers or for one: "info,tandem=debug". The library ignores a level that
// it does not know, so a misspelt level would have no effect.
std::string problem_of_log_levels(const std::string& text) {
  std::istringstream parts(text.ends_with(',') ? text + "," : text);  // the text after a last comma is a part too
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string level = trimmed_lower(part.substr(part.find('=') + 1));
    const bool has_name = part.find('=') == std::string::npos || !trimmed_lower(part.substr(0, part.find('='))).empty();
    if (has_name && std::ranges::find(kLevels, level) != std::end(kLevels)) continue;
    return "TANDEM_LOG: '" + part.substr(0, 80) + "' is no log level (trace, debug, info, warn, error, critical, off)";
  }
  return "";
}

std::string problem_of_log_variable() {
  const char* levels = std::getenv("TANDEM_LOG");
  return levels == nullptr ? "" : problem_of_log_levels(levels);
}

// Standard output belongs to results, so the log goes to standard error. The variable is read last, because it replaces
// the default level.
void log_to_stderr() {
  auto log = std::make_shared<spdlog::logger>("tandem", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  log->set_pattern("%^%l%$: %v");
  spdlog::set_default_logger(log);
  spdlog::set_level(spdlog::level::warn);
  if (const char* levels = std::getenv("TANDEM_LOG")) spdlog::cfg::helpers::load_levels(levels);
}

}  // namespace tandem
