// Bodies of requests, and answers of models.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "engine/serve/api/ask.h"
#include "engine/serve/openai/messages.h"
#include "engine/serve/openai/reply_reader.h"
#include "engine/serve/openai/responses.h"
#include "engine/serve/openai/tools.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

using serve::ReplyParts;

// A refusal has words, and names a place if it is about one.
template <typename Read>
void try_to(const Read& read) {
  try {
    read();
  } catch (const serve::ApiError& error) {
    must_hold(error.status == 400 && !error.message.empty(), "a refused body is an error 400 that says why");
  } catch (const serve::Refusal& refusal) {
    must_hold(!refusal.message.empty() && !refusal.param.empty(), "a refusal says what and why");
  }
}

ReplyParts parts_of(const serve::ReplyRules& rules, std::string_view text, size_t piece) {
  serve::ReplyReader reader(rules);
  ReplyParts all;
  const auto add = [&all](const ReplyParts& parts) { all.insert(all.end(), parts.begin(), parts.end()); };
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) add(reader.push(text.substr(0, piece)));
  add(reader.finish());
  return serve::joined(all);
}

}  // namespace

void request_body(Bytes input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  std::optional<serve::Json> body;
  try_to([&] { body = serve::parse_body(text); });
  if (!body) return;
  const serve::AskRules rules{.usual = {}, .vocabulary = 1000, .lenient = false};
  try_to([&] { serve::read_completion(*body, rules); });
  try_to([&] { serve::read_chat(*body, rules); });
  try_to([&] { serve::schema_of_call(serve::read_tools(*body)); });
  try_to([&] {
    const serve::Json chat = serve::chat_body_of_response(*body);
    serve::template_messages(chat["messages"]);
    serve::read_tools(chat);
  });
  try_to([&] {
    if (body->contains("messages"))
      serve::conversation_of(serve::template_messages((*body)["messages"]), serve::read_tools(*body).offered, {});
  });
}

// The first byte chooses the form and the length of pieces.
void reply_text(Bytes input) {
  if (input.empty()) return;
  const auto first = static_cast<size_t>(input[0]);
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const serve::ToolForm* forms[] = {&serve::kHermesForm, &serve::kLlama3Form, &serve::kMistralForm,
                                    &serve::kForcedForm};
  serve::ReplyRules rules{.has_thoughts = (first & 4) != 0, .form = forms[first & 3], .functions = {"f", "g"}};
  must_hold(parts_of(rules, text, 1 + (first >> 3)) == parts_of(rules, text, text.size() + 1),
            "pieces of any length give the same parts");
}

}  // namespace tandem::fuzz
