// What differs between tokenizer models: plain text to ids, and a plain token's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

class TextModel {
 public:
  virtual ~TextModel() = default;
  // Appends the ids of `text`, which holds no special tokens. `at_start`: nothing or a special token stands before it.
  virtual void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const = 0;
  // The bytes that a token which is neither special nor user-defined stands for.
  virtual std::string bytes(int32_t id) const = 0;
};

}  // namespace tandem
