#include <algorithm>

#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {
namespace {

// The answer is one object, by a constraint that gives it the form of a call.
class ForcedReader : public CallReader {
 protected:
  bool step(ReplyParts& parts, bool is_end) override {
    if (!is_end) return false;
    if (auto call = read_call(held_)) {
      parts.push_back(std::move(*call));
      held_.clear();
    }
    take_all(parts);
    return false;
  }
};

}  // namespace

const ToolForm kForcedForm{
    "forced", "", [](FunctionNames) -> std::unique_ptr<CallReader> { return std::make_unique<ForcedReader>(); }};

const ToolForm* form_of_template(std::string_view chat_template) {
  for (const ToolForm* form : {&kHermesForm, &kMistralForm, &kLlama3Form})
    if (chat_template.find(form->mark) != std::string_view::npos) return form;
  return nullptr;
}

ReplyParts CallReader::push(std::string_view piece) {
  ReplyParts parts;
  held_ += piece;
  while (step(parts, false)) continue;
  return parts;
}

ReplyParts CallReader::finish() {
  ReplyParts parts;
  while (step(parts, true)) continue;
  return parts;
}

bool CallReader::pass_content(std::string_view mark, ReplyParts& parts, bool is_end) {
  const size_t place = held_.find(mark);
  const bool is_there = place != std::string::npos;
  size_t ready = is_there ? place : held_.size() - (is_end ? 0 : begun_mark(held_, mark));
  while ((is_there || !is_end) && ready > 0 && kBlanks.find(held_[ready - 1]) != std::string_view::npos) --ready;
  add_text(parts, ReplyPart::Kind::content, std::string_view(held_).substr(0, ready));
  if (is_there) gap_ = held_.substr(ready, place - ready);
  held_.erase(0, is_there ? place + mark.size() : ready);
  if (is_there) end_.restart();
  return is_there;
}

void CallReader::give_up(std::string_view mark, size_t length, ReplyParts& parts) {
  add_text(parts, ReplyPart::Kind::content, gap_);
  gap_.clear();
  add_text(parts, ReplyPart::Kind::content, mark);
  add_text(parts, ReplyPart::Kind::content, std::string_view(held_).substr(0, length));
  held_.erase(0, length);
  end_.restart();
}

std::string CallReader::take_blanks() {
  std::string blanks = held_.substr(0, behind_blanks(held_));
  held_.erase(0, blanks.size());
  return blanks;
}

void CallReader::take_all(ReplyParts& parts) {
  add_text(parts, ReplyPart::Kind::content, held_);
  held_.clear();
}

}  // namespace tandem::serve
