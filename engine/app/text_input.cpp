#include "engine/app/text_input.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "sync/error.h"

namespace tandem::app {

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error("cannot read the file", path, "It is a folder; name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read the file", path, std::strerror(errno));
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) throw Error("cannot read the file", path, std::strerror(errno));
  return text;
}

std::string input_text(const TextFlags& flags) { return flags.has_file ? read_file(flags.file) : flags.prompt; }

}  // namespace tandem::app
