#include "engine/app/text_input.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <utility>

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

std::ifstream open_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error("cannot read the file", path, "It is a folder; name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read the file", path, std::strerror(errno));
  return in;
}

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  std::ifstream in = open_file(path);
  return read_all(in, path);
}

std::string input_text(const TextFlags& flags) { return flags.has_file ? read_file(flags.file) : flags.prompt; }

std::vector<Window> windows_of_text(const Tokenizer& tokenizer, const std::string& text, int64_t length) {
  EncodeOptions plain;
  plain.add_bos_eos = false;
  plain.parse_special = false;
  const std::vector<int32_t> ids = tokenizer.encode(text, plain);
  const std::vector<int32_t> empty = tokenizer.encode("", {});  // what every text begins with
  const size_t each = static_cast<size_t>(length) - std::min(empty.size(), static_cast<size_t>(length) - 1);
  std::vector<Window> windows;
  for (size_t begin = 0; begin < ids.size(); begin += each) {
    Window window = empty;
    window.insert(window.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                  ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + each, ids.size())));
    windows.push_back(std::move(window));
  }
  return windows;
}

}  // namespace tandem::app
