// Reads the text of a class word by word (operator_class.h, pass_class.h). Words are separated by single blanks.
//
// Contract: a value. Views of the text are borrowed. Text that does not fit is left where it is, so a class that is
// written again differs from its text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sync/parse_number.h"

namespace tandem {

class ClassText {
 public:
  explicit ClassText(std::string_view text) : rest_(text) {}

  bool is(std::string_view word) const { return next() == word; }
  bool begins(std::string_view prefix) const { return next().starts_with(prefix); }
  std::string word() {  // the next word; "": there is none
    const std::string word(next());
    drop();
    return word;
  }
  bool take(std::string_view word) {  // whether this is the next word, which is then read
    const bool found = is(word) && !word.empty();
    if (found) drop();
    return found;
  }
  // The number of a word that consists of the prefix and a number.
  std::optional<int64_t> number(std::string_view prefix) {
    if (!begins(prefix)) return std::nullopt;
    const std::string_view digits = next().substr(prefix.size());
    const std::optional<int64_t> value = parse_number<int64_t>(digits);
    if (!value || *value < 0) return std::nullopt;
    drop();
    return value;
  }

 private:
  std::string_view next() const { return rest_.substr(0, rest_.find(' ')); }
  void drop() { rest_.remove_prefix(std::min(rest_.size(), next().size() + 1)); }
  std::string_view rest_;
};

}  // namespace tandem
