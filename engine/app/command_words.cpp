#include "engine/app/command_words.h"

#include <algorithm>

namespace tandem::app {

std::vector<std::string> leading_words(std::span<const std::string> arguments) {
  const auto end = std::ranges::find_if(arguments, [](const std::string& each) { return each.starts_with('-'); });
  return {arguments.begin(), end};
}

// `help` words at the beginning are removed and --help is appended; a `help` at the end of the words is replaced.
std::vector<std::string> spelled_out(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  // The parser would read -np as -n with the value p, so the long name replaces it.
  for (int i = 1; i < argc; ++i) arguments.emplace_back(std::string(argv[i]) == "-np" ? "--parallel" : argv[i]);
  const std::vector<std::string> words = leading_words(arguments);
  const auto behind = std::ranges::find_if(words, [](const std::string& word) { return word != "help"; });
  const auto before = behind - words.begin();
  if (before > 0) {
    arguments.erase(arguments.begin(), arguments.begin() + before);
    arguments.emplace_back("--help");
  } else if (words.size() > 1 && words.back() == "help") {
    arguments[words.size() - 1] = "--help";
  }
  return arguments;
}

std::string no_such_command(const std::string& found, std::span<const std::string> commands) {
  std::string names;
  for (const std::string& name : commands) names += (names.empty() ? "" : ", ") + name;
  const std::string problem =
      found.empty() ? "a command is missing" : "there is no command '" + found.substr(0, 80) + "'";
  return problem + "; there " + (commands.size() == 1 ? "is: " : "are: ") + names;
}

}  // namespace tandem::app
