// The part of a tokenizer that differs between models: plain text to ids, and a plain token to bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

class TextModel {
 public:
  virtual ~TextModel() = default;
  // Appends the ids of `text`, which holds no special tokens. `at_start`: `text` is at the beginning or follows a
  // special token.
  virtual void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const = 0;
  // The bytes that a token stands for, if it is neither special nor user-defined.
  virtual std::string bytes(int32_t id) const = 0;
};

}  // namespace tandem
