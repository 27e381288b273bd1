// Where a command's text comes from: -p, or a file, byte for byte (a trailing newline stays; "-" is standard input).
#pragma once

#include <string>

namespace tandem::app {

struct TextFlags {
  std::string prompt;  // -p
  std::string file;    // -f
  bool has_prompt = false, has_file = false;
};

std::string read_file(const std::string& path);  // Error when it cannot be read, or is longer than 256 MiB
std::string input_text(const TextFlags& flags);  // exactly one of -p and -f was given (the command line sees to it)

}  // namespace tandem::app
