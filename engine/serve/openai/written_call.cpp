// Reads calls of functions in a model's own spelling. Arguments are passed on as the model wrote them and are not
// printed anew, because a stream has already sent their first characters.
#include "engine/serve/openai/written_call.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sync/json_text.h"

namespace tandem::serve {
namespace {

using nlohmann::json;

// The end of the value that begins here, in JSON that is known to be right. A bracket, comma or colon of an outer value
// ends this one. Characters within strings do not count, and a backslash hides the character behind it.
size_t end_of_value(std::string_view text, size_t at) {
  size_t depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']' || c == ',' || c == ':') && depth == 0) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return at;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = behind_blanks(text, 0);
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// The spelling of each value of a right JSON object or list; names are empty in a list.
std::vector<std::pair<std::string, std::string_view>> spelt_values(std::string_view text) {
  std::vector<std::pair<std::string, std::string_view>> values;
  const bool is_object = text[0] == '{';
  for (size_t at = behind_blanks(text, 1); at < text.size() - 1; at = behind_blanks(text, at)) {
    std::string name;
    if (is_object) {
      const size_t end = end_of_value(text, at);
      name = json::parse(text.substr(at, end - at)).get<std::string>();
      at = behind_blanks(text, end + 1);
    }
    const size_t end = end_of_value(text, at);
    values.emplace_back(std::move(name), trimmed(text.substr(at, end - at)));
    at = end + 1;
  }
  return values;
}

constexpr size_t kLongestHead = 400;  // bytes of a call in front of its arguments

// Reads such a head from left to right; every function says whether its part is there.
class HeadReader {
 public:
  explicit HeadReader(std::string_view text) : text_(text.substr(0, kLongestHead)) {}
  bool take(char c) {
    at_ = behind_blanks(text_, at_);
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_string(std::string& value) {
    at_ = behind_blanks(text_, at_);
    const size_t end = end_of_value(text_, at_);
    const json read = json::parse(text_.substr(at_, end - at_), nullptr, false);
    if (!read.is_string()) return false;
    value = read.get<std::string>();
    at_ = end;
    return true;
  }
  bool take_word(const char* word) {
    std::string value;
    return take_string(value) && value == word;
  }
  size_t at() const { return at_; }

 private:
  const std::string_view text_;
  size_t at_ = 0;
};

bool is_right(std::string_view text, char bracket) {
  return text.starts_with(bracket) && !json_nests_deeper(text, kDeepestCall) && json::accept(text);
}

// {…} as it is; "{…}" as what the text says.
std::optional<std::string> object_of(std::string_view spelt) {
  std::string text(spelt);
  if (spelt.starts_with('"')) text = trimmed(json::parse(spelt).get<std::string>());
  if (!is_right(text, '{')) return std::nullopt;
  return text;
}

}  // namespace

// Continues where the last call stopped, so a text of n bytes costs n steps however many pieces it comes in.
std::optional<size_t> JsonEnd::find(std::string_view text) {
  while (read_ < text.size()) {
    const char c = text[read_++];
    if (in_string_) {
      if (!is_escaped_ && c == '"') in_string_ = false;
      is_escaped_ = !is_escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (--depth_ == 0) return read_;
    }
  }
  return std::nullopt;
}

// Succeeds only for a name in front of the arguments, which is the order that call_schema() demands.
std::optional<CallHead> call_head(std::string_view text) {
  HeadReader reader(text);
  CallHead head;
  const bool is_named = reader.take('{') && reader.take_word("name") && reader.take(':') &&
                        reader.take_string(head.function) && reader.take(',') && reader.take_word("arguments") &&
                        reader.take(':') && reader.take('{');
  if (!is_named || head.function.empty()) return std::nullopt;
  head.arguments = reader.at() - 1;
  return head;
}

bool is_object_text(std::string_view text) { return is_right(trimmed(text), '{'); }

// Accepts the names that models use in practice: "arguments" or "parameters", in any order, beside members that
// are ignored.
std::optional<ReplyPart> read_call(std::string_view text) {
  text = trimmed(text);
  if (!is_right(text, '{')) return std::nullopt;
  ReplyPart call{ReplyPart::Kind::call, "{}"};
  for (const auto& [name, spelt] : spelt_values(text)) {
    if (name == "name" && spelt.starts_with('"')) {
      call.function = json::parse(spelt).get<std::string>();
    } else if (name == "arguments" || name == "parameters") {
      const auto object = object_of(spelt);
      if (!object) return std::nullopt;
      call.text = *object;
    }
  }
  if (call.function.empty()) return std::nullopt;
  return call;
}

// A list counts as a whole or not at all, so no call is lost or made up when one of its values is broken.
ReplyParts read_calls(std::string_view text) {
  text = trimmed(text);
  if (!is_right(text, '[')) return {};
  ReplyParts calls;
  for (const auto& [name, spelt] : spelt_values(text)) {
    auto call = read_call(spelt);
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

}  // namespace tandem::serve
