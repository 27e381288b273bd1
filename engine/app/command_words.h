// The words before a command line's flags: which command it is for, and `help` in the place of --help.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tandem::app {

// What the parser is given: `help`, before or behind a command's words, is --help, and -np is --parallel (the parser
// has no short names of two letters).
std::vector<std::string> spelled_out(int argc, const char* const* argv);

// The arguments before the first flag.
std::vector<std::string> leading_words(std::span<const std::string> arguments);

// "there is no command 'foo'; there are: run, eval"; `found` is empty where no word was given.
std::string no_such_command(const std::string& found, std::span<const std::string> commands);

}  // namespace tandem::app
