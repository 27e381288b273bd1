// Walks of texts through a constraint, for tests: written at random, or read as a whole.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/constraint/constraint.h"
#include "tandem/tokenizer.h"

namespace tandem::testing {

inline bool is_allowed(std::span<const uint64_t> mask, int32_t id) {
  return mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1;
}

inline std::vector<int32_t> allowed_ids(std::span<const uint64_t> mask, int64_t tokens) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokens; ++id)
    if (is_allowed(mask, id)) ids.push_back(id);
  return ids;
}

// Draws among the allowed tokens, each as likely as the others, until the text ends. Nothing: it had not ended after
// `most` tokens. A text that must not go on ends; one that may end does so when an end token is drawn.
inline std::optional<std::string> written(const Constraint& constraint, const Tokenizer& tokenizer,
                                          std::mt19937& random, int most) {
  const auto matcher = constraint.state().new_matcher();
  std::string text;
  for (int i = 0; i < most; ++i) {
    if (matcher->is_complete()) return text;
    const std::vector<int32_t> ids = allowed_ids(matcher->mask(), tokenizer.size());
    if (ids.empty()) throw std::logic_error("a dead end behind: " + text);
    // An end is drawn one time in four, so that numbers and lists come to one.
    if (matcher->may_end() && random() % 4 == 0) return text;
    const int32_t id = ids[random() % ids.size()];
    if (tokenizer.is_end(id)) return text;
    if (!matcher->accept(id)) throw std::logic_error("an allowed token is not taken behind: " + text);
    text += tokenizer.piece(id, false);
  }
  return std::nullopt;
}

// Reads a text in a random tokenisation. Returns the place of the first token that may not come; the text's length if
// it may not end there; -1: all is well.
inline int64_t first_refused(const Constraint& constraint, const Tokenizer& tokenizer, std::string_view text,
                             std::mt19937& random) {
  const auto matcher = constraint.state().new_matcher();
  size_t place = 0;
  while (place < text.size()) {
    std::vector<int32_t> fitting;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      const std::string piece = tokenizer.piece(id, false);
      if (!piece.empty() && text.substr(place).starts_with(piece)) fitting.push_back(id);
    }
    if (fitting.empty()) throw std::logic_error("the tokenizer cannot write this text");
    const auto mask = matcher->mask();
    for (const int32_t id : fitting)
      if (!is_allowed(mask, id)) return static_cast<int64_t>(place);
    const int32_t id = fitting[random() % fitting.size()];
    if (!matcher->accept(id)) throw std::logic_error("an allowed token is not taken");
    place += tokenizer.piece(id, false).size();
  }
  return matcher->may_end() ? -1 : static_cast<int64_t>(text.size());
}

inline bool takes(const Constraint& constraint, const Tokenizer& tokenizer, std::string_view text) {
  std::mt19937 random(7);
  return first_refused(constraint, tokenizer, text, random) < 0;
}

}  // namespace tandem::testing
