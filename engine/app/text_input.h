// Reads a command's text from -p, or from a file, byte for byte (a trailing newline stays; "-" is standard input). Long
// texts are cut into windows that are read independently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/tokenizer.h"

namespace tandem::app {

struct TextFlags {
  std::string prompt;  // -p
  std::string file;    // -f; the last one if there are several
  std::vector<std::string> files;
  bool has_file = false;
};

std::string read_file(const std::string& path);  // through InputFile; Error above 256 MiB
std::string input_text(const TextFlags& flags);  // the command line ensures that there is exactly one of -p and -f

using Window = std::vector<int32_t>;  // token ids

// Windows of at most `length` tokens. Each begins with the tokens that the model wants at the beginning of a text.
// Special tokens in the text are plain text. An empty text has no windows.
std::vector<Window> windows_of_text(const Tokenizer& tokenizer, const std::string& text, int64_t length);

}  // namespace tandem::app
