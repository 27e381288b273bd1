#include "engine/app/text_input.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/app/input_file.h"
#include "sync/error.h"

namespace tandem::app {

namespace {

// Far more than a context holds or a measurement takes. Without a bound, an endless input would be read until
// memory is full.
constexpr size_t kMostTextBytes = size_t{256} << 20, kPieceBytes = size_t{1} << 20;

}  // namespace

// The size is not asked for in advance, because a pipe has none. So the limit is checked as the text grows.
std::string read_file(const std::string& path) {
  InputFile in(path);
  std::string text;
  std::vector<char> piece(kPieceBytes);  // a pipe fills only a small part of it
  while (const size_t count = in.read(piece)) {
    text.append(piece.data(), count);
    if (text.size() > kMostTextBytes)
      throw Error("the text is too long", in.name(),
                  "At most " + std::to_string(kMostTextBytes >> 20) + " MiB are read");
  }
  return text;
}

std::string input_text(const TextFlags& flags) { return flags.has_file ? read_file(flags.file) : flags.prompt; }

// The text is encoded once and then cut. Each window keeps room for the tokens of a text's beginning, but takes at
// least one of the text.
std::vector<Window> windows_of_text(const Tokenizer& tokenizer, const std::string& text, int64_t length) {
  EncodeOptions plain;
  plain.add_bos_eos = false;
  plain.parse_special = false;
  const std::vector<int32_t> ids = tokenizer.encode(text, plain);
  const std::vector<int32_t> empty = tokenizer.encode("", {});  // the beginning of every text
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
