// The parts of a model's answer, each of one kind: text for the reader, thoughts, a call of a function, or
// further arguments of the call in front of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::serve {

struct ReplyPart {
  enum class Kind { content, reasoning, call, arguments };
  Kind kind = Kind::content;
  std::string text;        // of a call: its arguments so far, a JSON object as the model spelt it
  std::string function{};  // of a call
  bool operator==(const ReplyPart&) const = default;
};
using ReplyParts = std::vector<ReplyPart>;

// Joins neighbours of one kind, and calls with their arguments, so that any cut of a text gives the same parts.
ReplyParts joined(const ReplyParts& parts);
void add_text(ReplyParts& parts, ReplyPart::Kind kind, std::string_view text);  // nothing, if it is empty

inline constexpr std::string_view kBlanks = " \t\r\n";
size_t behind_blanks(std::string_view text, size_t at = 0);  // the next place without a blank, or the end
// How much of the text's end may be the beginning of the mark.
size_t begun_mark(std::string_view text, std::string_view mark);

}  // namespace tandem::serve
