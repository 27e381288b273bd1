// A conversation with one model: messages, the text that a template makes of them, and the sequence that has read it.
// Tokens that the model has sampled are kept as they were, since encoding the answer again could give others.
#include "engine/app/commands/text/dialogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/prompting.h"
#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::app {
namespace {

// A conversation needs a template: without one, a model's turns have no marks.
chat::TemplateSource required_template(const CommonFlags& flags, const GgufFile& file) {
  auto source = chosen_template(flags, &file, false);
  if (!source)
    throw Error("the model has no chat template", file.path(),
                "Give one with --chat-template or --chat-template-file, or continue texts with `tandem run`");
  return std::move(*source);
}

bool is_assistant(const std::vector<chat::Message>& messages) {
  return !messages.empty() && messages.back().role == "assistant";
}

}  // namespace

// The template, the tokenizer's stop texts and the sequence belong to one conversation.
Dialogue::Dialogue(const CommonFlags& flags, Engine& engine, std::optional<bool> thinking)
    : chat_(required_template(flags, engine.model().file()), engine.model().tokenizer()),
      engine_(engine),
      chat_options_{.enable_thinking = thinking},
      options_(generate_options(flags)),
      sequence_(engine.cache().new_sequence()) {
  options_.stop.insert(options_.stop.end(), chat_.stop_texts().begin(), chat_.stop_texts().end());
}

// A template that refuses a system message gets its words in front of the first user's.
chat::Text Dialogue::rendered() {
  try {
    return chat_.text(messages_, chat_options_);
  } catch (const chat::TemplateRefusal&) {
    const bool has_system = messages_.size() > 1 && messages_[0].role == "system" && messages_[1].role == "user";
    if (!has_system) throw;
    std::vector<chat::Message> merged(messages_.begin() + 1, messages_.end());
    merged[0].content = messages_[0].content + "\n\n" + merged[0].content;
    chat::Text text = chat_.text(merged, chat_options_);
    moved_system_ = true;
    return text;
  }
}

// The ids of the longest beginning that is known, then those of the tokenizer.
std::vector<int32_t> Dialogue::with_sampled_ids(std::vector<int32_t> encoded) const {
  const Known* best = nullptr;
  for (const Known& each : known_) {
    const bool begins = std::ranges::mismatch(each.encoded, encoded).in1 == each.encoded.end();
    if (begins && (best == nullptr || each.encoded.size() > best->encoded.size())) best = &each;
  }
  if (best == nullptr) return encoded;
  std::vector<int32_t> ids = best->ids;
  ids.insert(ids.end(), encoded.begin() + std::ssize(best->encoded), encoded.end());
  return ids;
}

// A stop text may begin within a token, so the ids of such an answer are not its text.
void Dialogue::remember(chat::Text text, std::vector<int32_t> ids, const Generation& result) {
  constexpr size_t kTurns = 16;
  if (result.reason == StopReason::stop_string) return;
  text.append(result.text, chat::Author::conversation);
  const bool has_end = result.reason == StopReason::end_of_text;
  ids.insert(ids.end(), result.ids.begin(), result.ids.end() - (has_end ? 1 : 0));
  known_.push_back({chat_.prompt(text), std::move(ids)});
  if (known_.size() > kTurns) known_.pop_front();
}

// The prompt's last token always runs, because it gives the logits.
Generation Dialogue::generate_on(const Listener& listener) {
  const chat::Text text = rendered();
  const std::vector<int32_t> ids = with_sampled_ids(chat_.prompt(text));
  if (std::ssize(ids) > engine_.sizes().context)
    throw Error("the conversation does not fit the context",
                std::to_string(ids.size()) + " tokens, context " + std::to_string(engine_.sizes().context),
                "/undo takes a turn back, --ctx-size makes room for more");
  const auto all_but_last = std::span<const int32_t>(ids).first(ids.size() - 1);
  // The part of the prompt that the sequence has already does not run again.
  const int64_t kept = std::ranges::mismatch(sequence_.ids(), all_but_last).in1 - sequence_.ids().begin();
  sequence_.rewind(kept);
  const size_t end = text.bytes().find_last_not_of(" \n") + 1;
  // Some templates open a thought at the end of the prompt, so the answer begins within it.
  const bool in_thought = std::string_view(text.bytes()).substr(0, end).ends_with("<think>");
  GenerateOptions options = options_;
  options.on_text = [&](std::string_view piece) { listener(piece, in_thought); };
  Generation result = generate(engine_, sequence_, ids, options);
  if (result.reason == StopReason::interrupted && result.text.empty()) throw Interrupted();
  remember(text, ids, result);
  ++totals_.turns;
  totals_.kept_tokens += kept;
  totals_.read_tokens += std::ssize(ids) - kept;
  totals_.read_seconds += result.prompt_seconds;
  totals_.written_tokens += std::ssize(result.ids);
  totals_.written_seconds += result.predicted_seconds;
  totals_.timed_tokens += decoded_tokens(result);
  totals_.drafts += result.drafts.drafts;
  totals_.accepted_drafts += result.drafts.accepted;
  totals_.checked_tokens += result.drafts.checked;
  return result;
}

// A turn that fails leaves the conversation as it was.
Generation Dialogue::attempt(const std::function<Generation()>& turn) {
  std::vector<chat::Message> before = messages_;
  try {
    return turn();
  } catch (...) {
    messages_ = std::move(before);
    throw;
  }
}

// The user's message is taken back if the answer fails, so a conversation never ends with an open question.
Generation Dialogue::answer(const std::string& text, const Listener& listener) {
  return attempt([&] {
    messages_.push_back({"user", text});
    Generation result = generate_on(listener);
    messages_.push_back({"assistant", result.text});
    return result;
  });
}

// Another seed gives another answer, at the same place of the conversation.
Generation Dialogue::answer_again(const Listener& listener) {
  return attempt([&] {
    if (!drop_answer()) throw Error("there is no answer yet", "the conversation");
    ++options_.sampler.seed;
    Generation result = generate_on(listener);
    messages_.push_back({"assistant", result.text});
    return result;
  });
}

// The answer is continued where it ended, for example behind an interrupt.
Generation Dialogue::go_on(const Listener& listener) {
  return attempt([&] {
    if (!is_assistant(messages_)) throw Error("there is no answer to go on with", "the conversation");
    Generation result = generate_on(listener);
    messages_.back().content += result.text;
    return result;
  });
}

bool Dialogue::drop_answer() {
  if (!is_assistant(messages_)) return false;
  messages_.pop_back();
  return true;
}

// Takes a turn back: the answer and the message before it.
bool Dialogue::undo() {
  const bool had_answer = drop_answer();
  if (messages_.empty() || messages_.back().role != "user") return had_answer;
  messages_.pop_back();
  return true;
}

// There is at most one system message, at the beginning. An empty text removes it. One that is no text would make every
// later turn fail, and no file could keep it.
void Dialogue::set_system(const std::string& text) {
  if (!utf8::is_valid(text))
    throw Error("a message is no text in UTF-8", "the message of the role system", "Convert it to UTF-8");
  if (!messages_.empty() && messages_.front().role == "system") messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), {"system", text});
}

// The form of --messages, so a saved conversation can be given to any command that takes one.
std::string Dialogue::to_json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const chat::Message& message : messages_) all.push_back({{"role", message.role}, {"content", message.content}});
  return all.dump(2) + "\n";
}

// Only a list of messages with texts is a conversation. Anything else leaves the present one as it is.
void Dialogue::from_json(const std::string& json, const std::string& name) {
  const nlohmann::json all = parse_json(json);
  std::vector<chat::Message> messages;
  const auto is_text = [](const nlohmann::json& message, const char* key) {
    return message.is_object() && message.contains(key) && message.at(key).is_string();
  };
  for (const nlohmann::json& message : all) {
    if (!all.is_array() || !is_text(message, "role") || !is_text(message, "content") || message.size() > 2)
      throw Error("cannot load the conversation", name,
                  "Expected a list of {\"role\", \"content\"} with texts and nothing else");
    messages.push_back({message.at("role"), message.at("content")});
  }
  if (!all.is_array())
    throw Error("cannot load the conversation", name, "Expected a list of {\"role\", \"content\"} with texts");
  messages_ = std::move(messages);
}

}  // namespace tandem::app
