// Tells thoughts from the answer: what stands between <think> and </think> at the beginning of a text.
//
// Contract: pure. The text comes in any pieces; what may be a part of a mark is held back. Marks and the blank lines
// beside them belong to neither. A text without a mark is answer alone. Behind the first </think> everything is answer.
#pragma once

#include <string>
#include <string_view>

#include "engine/serve/openai/reply_part.h"

namespace tandem::serve {

class Thoughts {
 public:
  // begun: the prompt ends within thoughts, as some templates write "<think>" themselves.
  explicit Thoughts(bool begun) : place_(begun ? Place::lead_of_thoughts : Place::start) {}

  // Parts of the kinds content and reasoning.
  ReplyParts push(std::string_view piece);
  ReplyParts finish();

 private:
  enum class Place { start, lead_of_thoughts, thoughts, lead_of_answer, answer };
  bool step(ReplyParts& parts, bool is_end);
  bool begin(bool is_end);
  bool skip_blanks(Place next, bool is_end);
  bool think(ReplyParts& parts, bool is_end);
  Place place_;
  std::string held_;
};

// Whether a prompt ends with a mark that begins thoughts.
bool ends_in_thoughts(std::string_view prompt);

}  // namespace tandem::serve
