// The parts that readers of all forms share, the reader of forced calls, and the form of a template.
#include <algorithm>

#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {
namespace {

// The answer is one object, by a constraint that gives it the form of a call. So its arguments are handed over as they
// come, once the name is there. A limit of tokens may cut them.
class ForcedReader : public CallReader {
 protected:
  bool step(ReplyParts& parts, bool is_end) override {
    switch (place_) {
      case Place::head:
        return read_head(parts, is_end);
      case Place::arguments:
        return pass_arguments(parts);
      case Place::after:
        break;
    }
    if (is_end) take_rest(parts);
    return false;
  }

 private:
  enum class Place { head, arguments, after };

  // Waits for the head of the call. If the answer ends first, its text is a call if it can be read as one, and
  // else content.
  bool read_head(ReplyParts& parts, bool is_end) {
    const auto head = call_head(held_);
    if (!head && !is_end) return false;
    if (head) {
      parts.push_back({ReplyPart::Kind::call, "", head->function});
      held_.erase(0, head->arguments);
      place_ = Place::arguments;
      return true;
    }
    if (auto call = read_call(held_)) {
      parts.push_back(std::move(*call));
      held_.clear();
    }
    take_all(parts);
    return false;
  }

  // Pieces that were handed over stay in held_, because the search for the end goes on in it.
  bool pass_arguments(ReplyParts& parts) {
    const auto end = end_.find(held_);
    const size_t ready = end.value_or(held_.size());
    if (ready > passed_) parts.push_back({ReplyPart::Kind::arguments, held_.substr(passed_, ready - passed_), ""});
    passed_ = ready;
    if (!end) return false;
    held_.erase(0, ready);
    place_ = Place::after;
    return true;
  }

  // The constraint closes the outer object behind the arguments. That bracket belongs to no part.
  void take_rest(ReplyParts& parts) {
    const size_t bracket = behind_blanks(held_);
    if (bracket < held_.size() && held_[bracket] == '}' && behind_blanks(held_, bracket + 1) == held_.size())
      held_.clear();
    take_all(parts);
  }

  Place place_ = Place::head;
  size_t passed_ = 0;  // bytes of the arguments that were handed over
};

}  // namespace

const ToolForm kForcedForm{
    "forced", "", [](FunctionNames) -> std::unique_ptr<CallReader> { return std::make_unique<ForcedReader>(); }};

// A template writes earlier calls with its own mark, so the mark in its text tells the form. The first form that
// fits wins.
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

// Hands over content in front of a mark. Characters that may begin the mark, and blanks before them, are held back,
// because both vanish if a call follows.
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

// The text looked like a call and is none. So everything that was held back becomes content, in its first order.
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
