#include "engine/app/commands/text_windows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tandem::app {

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
