// [TOOL_CALLS] [{"name": "f", "arguments": {...}}, ...], or for each call [TOOL_CALLS]f[ARGS]{...}.
//
// The mark is a special token, which many programs do not print. So an answer that begins with a list of calls counts
// as well, if all of them name functions that are there.
#include <algorithm>

#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {
namespace {

constexpr std::string_view kToolCalls = "[TOOL_CALLS]", kNamedArguments = "[ARGS]";

class MistralReader : public CallReader {
 public:
  explicit MistralReader(FunctionNames functions) : functions_(std::move(functions)) {}

 protected:
  // The start is special, because only there a list counts as calls without the mark.
  bool step(ReplyParts& parts, bool is_end) override {
    switch (place_) {
      case Place::start:
        return begin(is_end);
      case Place::content:
        if (!pass_content(kToolCalls, parts, is_end)) return false;
        mark_ = kToolCalls;
        place_ = Place::calls;
        return true;
      case Place::calls:
        return read(parts, is_end);
      case Place::after:
        take_blanks();
        if (held_.empty()) return false;
        place_ = Place::content;
        return true;
    }
    return false;
  }

 private:
  enum class Place { start, content, calls, after };

  // A list without the mark: the first two brackets tell.
  bool begin(bool is_end) {
    const size_t list = behind_blanks(held_);
    const size_t object = list < held_.size() ? behind_blanks(held_, list + 1) : list;
    const bool may_be = list == held_.size() || held_[list] == '[';
    if (may_be && object == held_.size() && !is_end) return false;
    const bool is_list = may_be && object < held_.size() && held_[object] == '{';
    mark_.clear();
    place_ = is_list ? Place::calls : Place::content;
    return true;
  }

  // Behind the mark stands a list, or a name with an object. The bracket tells which, and neither is read before its
  // last character is there.
  bool read(ReplyParts& parts, bool is_end) {
    const size_t begin = behind_blanks(held_);
    if (begin == held_.size() && !is_end) return false;
    if (begin < held_.size() && held_[begin] == '[') return read_list(begin, parts, is_end);
    const size_t object = held_.find('{', begin);
    if (object == std::string::npos && !is_end) return false;
    const auto end = object == std::string::npos ? std::nullopt : end_.find(std::string_view(held_).substr(object));
    if (!end && !is_end) return false;
    return end ? take_named(begin, object, object + *end, parts) : leave_as_content(parts);
  }

  // Behind a mark any name is accepted, and without one each call must name a function that was offered.
  bool read_list(size_t begin, ReplyParts& parts, bool is_end) {
    const auto end = end_.find(std::string_view(held_).substr(begin));
    if (!end && !is_end) return false;
    const ReplyParts calls = end ? read_calls(std::string_view(held_).substr(begin, *end)) : ReplyParts();
    const bool are_known = std::ranges::all_of(
        calls, [this](const ReplyPart& call) { return !mark_.empty() || functions_.contains(call.function); });
    if (calls.empty() || !are_known) return leave_as_content(parts);
    parts.insert(parts.end(), calls.begin(), calls.end());
    held_.erase(0, begin + *end);
    place_ = Place::after;
    return true;
  }

  // Writes the name and the object as a call in the usual form, so that one reader checks both spellings.
  bool take_named(size_t begin, size_t object, size_t end, ReplyParts& parts) {
    std::string_view name = std::string_view(held_).substr(begin, object - begin);
    name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
    if (name.ends_with(kNamedArguments)) name.remove_suffix(kNamedArguments.size());
    const std::string call = R"({"name":"x","arguments":)" + held_.substr(object, end - object) + "}";
    auto read = functions_.contains(std::string(name)) ? read_call(call) : std::nullopt;
    if (!read) return leave_as_content(parts);
    read->function = name;
    parts.push_back(std::move(*read));
    held_.erase(0, end);
    place_ = Place::after;
    return true;
  }

  // Without a mark the first bracket moves on as content, because the same text would otherwise be tried again
  // for ever.
  bool leave_as_content(ReplyParts& parts) {
    give_up(mark_, mark_.empty() ? 1 : 0, parts);
    place_ = Place::content;
    return true;
  }

  const FunctionNames functions_;
  Place place_ = Place::start;
  std::string mark_;
};

}  // namespace

const ToolForm kMistralForm{"mistral", kToolCalls, [](FunctionNames functions) -> std::unique_ptr<CallReader> {
                              return std::make_unique<MistralReader>(std::move(functions));
                            }};

}  // namespace tandem::serve
