#include "engine/app/text_input.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>

#include "sync/error.h"

namespace tandem::app {

namespace {

// Far above what a context holds or a measurement takes; without a bound, what never ends would be read until memory
// does.
constexpr size_t kMostTextBytes = size_t{256} << 20, kPieceBytes = size_t{1} << 20;

std::string read_all(std::istream& in, const std::string& path) {
  std::string text;
  while (in) {
    const size_t before = text.size();
    text.resize(before + kPieceBytes);
    in.read(text.data() + before, static_cast<std::streamsize>(kPieceBytes));
    text.resize(before + static_cast<size_t>(in.gcount()));
    if (text.size() > kMostTextBytes)
      throw Error("the text is too long", path, "At most " + std::to_string(kMostTextBytes >> 20) + " MiB are read");
  }
  if (in.bad()) throw Error("cannot read the file", path, std::strerror(errno));
  return text;
}

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error("cannot read the file", path, "It is a folder; name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read the file", path, std::strerror(errno));
  return read_all(in, path);
}

std::string input_text(const TextFlags& flags) { return flags.has_file ? read_file(flags.file) : flags.prompt; }

}  // namespace tandem::app
