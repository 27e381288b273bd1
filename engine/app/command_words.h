// The words before a command line's flags: the command, and `help` in place of --help.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tandem::app {

// The arguments as the parser understands them. `help` before or after a command's words becomes --help. -np becomes
// --parallel, because the parser has no short names of two letters.
std::vector<std::string> spelled_out(int argc, const char* const* argv);

// The arguments before the first flag.
std::vector<std::string> leading_words(std::span<const std::string> arguments);

// "there is no command 'foo'; there are: run, eval". `found` is empty if the user gave no word.
std::string no_such_command(const std::string& found, std::span<const std::string> commands);

}  // namespace tandem::app
