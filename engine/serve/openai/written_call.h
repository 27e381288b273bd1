// A call of a function as a model writes it: {"name": "f", "arguments": {...}}.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/serve/openai/reply_part.h"

namespace tandem::serve {

// Finds the end of a JSON object or list in a text that grows, and reads each byte once.
class JsonEnd {
 public:
  // The text begins with a bracket. Where the value ends; absent: not yet. It is longer than in the last call.
  std::optional<size_t> find(std::string_view text);
  void restart() { *this = {}; }

 private:
  size_t read_ = 0, depth_ = 0;
  bool in_string_ = false, is_escaped_ = false;
};

inline constexpr int kDeepestCall = 64;  // brackets within each other

// Whether the text is a JSON object without anything beside it, nested at most so deep.
bool is_object_text(std::string_view text);

// The beginning of a call whose name comes first: {"name": "f", "arguments": {
struct CallHead {
  std::string function;
  size_t arguments = 0;  // where their bracket is
};
// Absent: it does not begin so, or not all of that is there.
std::optional<CallHead> call_head(std::string_view text);

// Absent: it is no call. The arguments stand in "arguments" or "parameters"; without any they are {}. A text with the
// JSON of an object is an object, too, since some models write it so.
std::optional<ReplyPart> read_call(std::string_view json);
// Calls of a list of such objects; empty: one of its values is no call.
ReplyParts read_calls(std::string_view json_list);

}  // namespace tandem::serve
