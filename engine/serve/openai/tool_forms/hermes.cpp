// <tool_call>{"name": "f", "arguments": {...}}</tool_call>, any number of them, with text before.
#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {
namespace {

constexpr std::string_view kCallBegin = "<tool_call>", kCallEnd = "</tool_call>";

class HermesReader : public CallReader {
 protected:
  // Content up to the mark, one object, then an optional end mark, and content again.
  bool step(ReplyParts& parts, bool is_end) override {
    switch (place_) {
      case Place::content:
        if (!pass_content(kCallBegin, parts, is_end)) return false;
        place_ = Place::call;
        lead_.clear();
        return true;
      case Place::call:
        return read(parts, is_end);
      case Place::after:
        return leave(is_end);
    }
    return false;
  }

 private:
  enum class Place { content, call, after };

  // Blanks before the object are kept, in case that it is none.
  bool read(ReplyParts& parts, bool is_end) {
    lead_ += take_blanks();
    if (held_.empty() && !is_end) return false;
    const bool is_object = held_.starts_with('{');
    const auto end = is_object ? end_.find(held_) : std::nullopt;
    if (is_object && !end && !is_end) return false;
    const size_t length = end.value_or(is_object ? held_.size() : 0);
    auto call = end ? read_call(std::string_view(held_).substr(0, length)) : std::nullopt;
    if (call) {
      parts.push_back(std::move(*call));
      held_.erase(0, length);
    } else {
      give_up(std::string(kCallBegin) + lead_, length, parts);
    }
    place_ = call ? Place::after : Place::content;
    return true;
  }

  // The end mark may be absent; what stands there else is content.
  bool leave(bool is_end) {
    take_blanks();
    if (!is_end && held_.size() < kCallEnd.size() && kCallEnd.starts_with(held_)) return false;
    if (held_.starts_with(kCallEnd)) {
      held_.erase(0, kCallEnd.size());
      return true;
    }
    place_ = Place::content;
    return true;
  }

  Place place_ = Place::content;
  std::string lead_;
};

}  // namespace

const ToolForm kHermesForm{"hermes", kCallBegin, [](FunctionNames) -> std::unique_ptr<CallReader> {
                             return std::make_unique<HermesReader>();
                           }};

}  // namespace tandem::serve
