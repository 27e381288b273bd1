// Turns prompts and conversations into token ids. Everything that a template or the context refuses becomes an error
// that names the member of the request.
#include "engine/serve/api/prompts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/serve/openai/messages.h"
#include "engine/serve/openai/rendering.h"

namespace tandem::serve {
namespace {

// A text that is longer than the context times this length cannot fit, whatever its tokens are.
int64_t longest_piece(const Tokenizer& tokenizer) {
  int64_t longest = 1;
  for (int32_t id = 0; id < tokenizer.size(); ++id) longest = std::max(longest, std::ssize(tokenizer.piece(id, true)));
  return longest;
}

}  // namespace

// Templates are compiled once, at the start of the server.
Prompts::Prompts(const Tokenizer& tokenizer, const Templates& templates, int64_t context)
    : tokenizer_(tokenizer), context_(context), most_bytes_(context * longest_piece(tokenizer)), templates_(templates) {
  if (templates.usual) chat_.emplace(*templates.usual, tokenizer);
  if (templates.with_tools) tool_chat_.emplace(*templates.with_tools, tokenizer);
}

ApiError Prompts::too_long(const std::string& length, const char* param) const {
  return ApiError(400,
                  "The prompt has " + length + ", and a text has at most " + std::to_string(context_) +
                      " tokens with its answer. Start the server with a larger --ctx-size.",
                  param, "context_length_exceeded");
}

// Dividing megabytes into tokens takes seconds, in which other requests would wait to be read.
void Prompts::require_may_fit(const std::string& text, const char* param) const {
  if (std::ssize(text) > most_bytes_) throw too_long(std::to_string(text.size()) + " bytes", param);
}

// The answer needs at least one place behind the prompt.
std::vector<int32_t> Prompts::fitting(std::vector<int32_t> ids, const char* param) const {
  if (std::ssize(ids) >= context_) throw too_long(std::to_string(ids.size()) + " tokens", param);
  return ids;
}

// Some models have a template of its own for conversations that offer functions.
const chat::ModelChat& Prompts::chat_for(const Ask& chat) const {
  return tool_chat_ && !chat.tools.offered.is_null() ? *tool_chat_ : *chat_;
}

// The template's text tells what the model writes: thoughts, if it knows their mark, and the form of calls. A text with
// a required form has neither thoughts nor free calls.
ReplyRules Prompts::reply_rules(const Ask& chat, const chat::Text& rendered) const {
  const bool offers = !chat.tools.offered.is_null();
  const std::string& source = (offers && templates_.with_tools ? templates_.with_tools : templates_.usual)->text;
  ReplyRules rules;
  const bool has_form = chat.json_object || chat.json_schema || chat.grammar;  // which the text begins with
  rules.has_thoughts = !has_form && source.find("<think>") != std::string::npos;
  rules.begins_in_thoughts = rules.has_thoughts && ends_in_thoughts(rendered.bytes());
  if (!offers) return rules;
  const bool is_forced = chat.tools.choice == Tools::Choice::required;
  rules.form = form_of_template(source);
  if (rules.form == nullptr)
    throw ApiError(400, "The model's chat template has no functions, so \"tools\" cannot be offered to it.", "tools",
                   "unsupported_value");
  if (is_forced) rules.form = &kForcedForm;
  rules.functions = chat.tools.names();
  rules.one_call = is_forced || !chat.tools.parallel_calls;
  return rules;
}

// A pass needs a token, because the first generated one comes from the logits of the token in front of it.
std::vector<int32_t> Prompts::ids(const Ask::Prompt& prompt) const {
  if (!prompt.ids.empty()) return fitting(prompt.ids, "prompt");
  require_may_fit(prompt.text, "prompt");
  std::vector<int32_t> ids = tokenizer_.encode(prompt.text, {});
  if (ids.empty() && tokenizer_.bos() >= 0) ids.push_back(tokenizer_.bos());
  if (ids.empty())
    throw ApiError(400, "The prompt is empty, and this model has no start token.", "prompt", "invalid_value");
  return fitting(std::move(ids), "prompt");
}

// Parts that a user wrote are encoded as plain text, so a user cannot write special tokens.
std::vector<int32_t> Prompts::ids(const chat::Text& conversation) const {
  require_may_fit(conversation.bytes(), "messages");
  try {
    return fitting(chat_->prompt(conversation), "messages");
  } catch (const Error& error) {
    throw ApiError(400, error.what(), "messages", "invalid_value");
  }
}

std::vector<std::string> Prompts::stop_texts() const {
  return chat_ ? chat_->stop_texts() : std::vector<std::string>();
}

chat::Text Prompts::text(const Ask& chat) const {
  if (!chat_)
    throw ApiError(400,
                   "The model has no chat template. Use /v1/completions, or start the server with --chat-template.",
                   "messages", "no_chat_template");
  const Json conversation = conversation_of(chat.messages, chat.tools.offered, chat.template_arguments);
  try {
    return render_conversation(chat_for(chat), conversation, chat.begins_answer);
  } catch (const Error& error) {
    throw ApiError(400, std::string("The chat template refuses this conversation: ") + error.what(), "messages",
                   "template_error");
  }
}

}  // namespace tandem::serve
