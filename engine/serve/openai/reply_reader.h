// Reads one answer as it comes: thoughts first, then text and calls of functions.
//
// Contract: pure; one reader an answer. Pieces are whole characters, and so are the parts. Any cut of the text gives
// the same joined() parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/serve/openai/reply_part.h"
#include "engine/serve/openai/thoughts.h"
#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {

struct ReplyRules {
  bool has_thoughts = false;  // the template knows them; otherwise marks are ordinary text
  bool begins_in_thoughts = false;
  const ToolForm* form = nullptr;  // null: nothing is a call
  FunctionNames functions{};
  bool one_call = false;  // what stands behind the first call is dropped
};

class ReplyReader {
 public:
  explicit ReplyReader(const ReplyRules& rules);
  ReplyParts push(std::string_view piece);
  ReplyParts finish();
  int64_t calls() const { return calls_; }

 private:
  void read(const ReplyParts& thought, ReplyParts& parts);
  void take(const ReplyParts& read, ReplyParts& parts);
  std::optional<Thoughts> thoughts_;
  std::unique_ptr<CallReader> reader_;
  const bool one_call_;
  int64_t calls_ = 0;
};

}  // namespace tandem::serve
