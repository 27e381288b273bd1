// {"name": "f", "parameters": {...}}, the whole answer, perhaps behind <|python_tag|>; several stand behind each other,
// perhaps with ; between them.
//
// Without the mark a call has no sign of its own, so an object counts as one only if it names a function that is there.
#include <algorithm>

#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {
namespace {

constexpr std::string_view kPythonTag = "<|python_tag|>", kBetween = " \t\r\n;";

class Llama3Reader : public CallReader {
 public:
  explicit Llama3Reader(FunctionNames functions) : functions_(std::move(functions)) {}

 protected:
  // Calls stand at the start or nowhere. Behind anything else, the rest of the answer is content.
  bool step(ReplyParts& parts, bool is_end) override {
    switch (place_) {
      case Place::start:
        return begin(is_end);
      case Place::call:
        return read(parts, is_end);
      case Place::content:
        break;
    }
    take_all(parts);
    return false;
  }

 private:
  enum class Place { start, call, content };

  // The separator is kept until the next call is there, in case there is none.
  bool begin(bool is_end) {
    const size_t first = std::min(held_.find_first_not_of(has_calls_ ? kBetween : kBlanks), held_.size());
    const std::string_view rest = std::string_view(held_).substr(first);
    if (!is_end && rest.size() < kPythonTag.size() && kPythonTag.starts_with(rest)) return false;
    const size_t mark = rest.starts_with(kPythonTag) ? kPythonTag.size() : 0;
    const size_t call = behind_blanks(held_, first + mark);
    if (!is_end && call == held_.size()) return false;
    if (call < held_.size() && held_[call] == '{') {
      lead_ = held_.substr(0, call);
      held_.erase(0, call);
      end_.restart();
      place_ = Place::call;
    } else {
      if (has_calls_ && rest.empty()) held_.clear();
      place_ = Place::content;
    }
    return true;
  }

  // Waits for the end of the object. An object that is no call of a known function becomes content, with what stood
  // before it.
  bool read(ReplyParts& parts, bool is_end) {
    const auto end = end_.find(held_);
    if (!end && !is_end) return false;
    auto call = end ? read_call(std::string_view(held_).substr(0, *end)) : std::nullopt;
    if (call && functions_.contains(call->function)) {
      parts.push_back(std::move(*call));
      held_.erase(0, *end);
      has_calls_ = true;
      place_ = Place::start;
    } else {
      held_ = lead_ + held_;
      place_ = Place::content;
    }
    return true;
  }

  const FunctionNames functions_;
  Place place_ = Place::start;
  bool has_calls_ = false;
  std::string lead_;
};

}  // namespace

const ToolForm kLlama3Form{"llama3", kPythonTag, [](FunctionNames functions) -> std::unique_ptr<CallReader> {
                             return std::make_unique<Llama3Reader>(std::move(functions));
                           }};

}  // namespace tandem::serve
