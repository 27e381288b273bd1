// Writes the parts of an answer as JSON, once for a whole message and once for a delta of a stream.
#include "engine/serve/openai/reply_json.h"

namespace tandem::serve {
namespace {

OrderedJson call_json(const ReplyPart& part, const std::string& id) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", part.function}, {"arguments", part.text}}}};
}

}  // namespace

// Templates of Mistral demand nine letters and digits.
std::string call_id(const std::string& answer, int64_t choice, int64_t call) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : answer + "/" + std::to_string(choice) + "/" + std::to_string(call))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string id(9, '0');
  for (char& digit : id) {
    digit = kDigits[hash % kDigits.size()];
    hash /= kDigits.size();
  }
  return id;
}

// A whole message joins the parts of each kind. Content is null only where calls take its place, as OpenAI's API
// has it.
OrderedJson message_json(const ReplyParts& parts, const std::string& answer, int64_t choice) {
  std::string content, reasoning;
  OrderedJson calls = OrderedJson::array();
  for (const ReplyPart& part : parts) {
    if (part.kind == ReplyPart::Kind::content) content += part.text;
    if (part.kind == ReplyPart::Kind::reasoning) reasoning += part.text;
    if (part.kind == ReplyPart::Kind::call)
      calls.push_back(call_json(part, call_id(answer, choice, static_cast<int64_t>(calls.size()))));
  }
  OrderedJson message = {{"role", "assistant"}, {"content", nullptr}};
  if (!content.empty() || calls.empty()) message["content"] = content;
  if (!reasoning.empty()) message["reasoning_content"] = reasoning;
  if (!calls.empty()) message["tool_calls"] = calls;
  return message;
}

// A client joins the deltas of a call by its index. So the first delta has the id and the name, and later ones have
// only more characters of the arguments.
OrderedJson delta_json(const ReplyPart& part, const std::string& answer, int64_t choice, int64_t calls) {
  if (part.kind == ReplyPart::Kind::content) return {{"content", part.text}};
  if (part.kind == ReplyPart::Kind::reasoning) return {{"reasoning_content", part.text}};
  if (part.kind == ReplyPart::Kind::arguments)
    return {{"tool_calls", OrderedJson::array({{{"index", calls - 1}, {"function", {{"arguments", part.text}}}}})}};
  OrderedJson call = {{"index", calls}};
  call.update(call_json(part, call_id(answer, choice, calls)));
  return {{"tool_calls", OrderedJson::array({call})}};
}

}  // namespace tandem::serve
