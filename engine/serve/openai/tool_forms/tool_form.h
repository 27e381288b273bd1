// The forms in which models write calls of functions. A new form is one file, and a line in tool_forms.cpp.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/serve/openai/reply_part.h"
#include "engine/serve/openai/written_call.h"

namespace tandem::serve {

using FunctionNames = std::set<std::string>;

// Reads one answer, which comes in any pieces.
//
// Contract: pure. A call is handed over when it is complete, or piece by piece where it is certain. Text that is no
// call after all is content, with every byte of it. Blanks beside a call belong to neither. Any cut of the text gives
// the same joined() parts.
class CallReader {
 public:
  virtual ~CallReader() = default;
  ReplyParts push(std::string_view piece);
  ReplyParts finish();

 protected:
  // Takes what it can from held_. is_end: nothing more comes. Whether there may be another step to take.
  virtual bool step(ReplyParts& parts, bool is_end) = 0;

  // Content up to the mark, without blanks before it. Whether the mark is there; it is taken from the text then.
  bool pass_content(std::string_view mark, ReplyParts& parts, bool is_end);
  // The blanks, the mark and so much of held_ are content.
  void give_up(std::string_view mark, size_t length, ReplyParts& parts);
  std::string take_blanks();
  void take_all(ReplyParts& parts);  // as content

  std::string held_;
  std::string gap_;  // blanks before the last mark
  JsonEnd end_;
};

struct ToolForm {
  const char* name;
  std::string_view mark;  // a template that has it writes calls in this form
  std::unique_ptr<CallReader> (*reader)(FunctionNames functions);
};

extern const ToolForm kHermesForm;   // Qwen, Hermes
extern const ToolForm kLlama3Form;   // Llama 3.1 and later
extern const ToolForm kMistralForm;  // Mistral, with a list or with [ARGS]
extern const ToolForm kForcedForm;   // the answer is one call by a constraint, and nothing else

// The form that a template's text shows. Null: none that is known.
const ToolForm* form_of_template(std::string_view chat_template);

}  // namespace tandem::serve
