// Where a command's text comes from: -p, or a file, byte for byte (a trailing newline stays; "-" is standard input),
// and long ones as windows that are read one by one and know nothing of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/tokenizer.h"

namespace tandem::app {

struct TextFlags {
  std::string prompt;  // -p
  std::string file;    // -f; of several the last one
  std::vector<std::string> files;
  bool has_prompt = false, has_file = false;
};

std::string read_file(const std::string& path);  // as InputFile reads it; Error when it is longer than 256 MiB
std::string input_text(const TextFlags& flags);  // exactly one of -p and -f was given (the command line sees to it)

using Window = std::vector<int32_t>;  // token ids

// Windows of at most `length` tokens, each of which begins as the model wants a text to begin; special tokens in the
// text are plain text. An empty text has none.
std::vector<Window> windows_of_text(const Tokenizer& tokenizer, const std::string& text, int64_t length);

}  // namespace tandem::app
