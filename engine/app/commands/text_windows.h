// Long texts as windows that are read one by one and know nothing of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/tokenizer.h"

namespace tandem::app {

using Window = std::vector<int32_t>;  // token ids

// Windows of at most `length` tokens, each of which begins as the model wants a text to begin; special tokens in the
// text are plain text. An empty text has none.
std::vector<Window> windows_of_text(const Tokenizer& tokenizer, const std::string& text, int64_t length);

}  // namespace tandem::app
