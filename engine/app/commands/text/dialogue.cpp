#include "engine/app/commands/text/dialogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/prompting.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::app {
namespace {

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

Dialogue::Dialogue(const CommonFlags& flags, Engine& engine, std::optional<bool> thinking)
    : chat_(required_template(flags, engine.model().file()), engine.model().tokenizer()),
      engine_(engine),
      chat_options_{.enable_thinking = thinking},
      options_(generate_options(flags)),
      sequence_(engine.cache().new_sequence()) {
  options_.stop.insert(options_.stop.end(), chat_.stop_texts().begin(), chat_.stop_texts().end());
}

// A template that refuses a system message gets its words in front of the first user's.
std::vector<int32_t> Dialogue::prompt() {
  try {
    return chat_.prompt(messages_, chat_options_);
  } catch (const chat::TemplateRefusal&) {
    const bool has_system = messages_.size() > 1 && messages_[0].role == "system" && messages_[1].role == "user";
    if (!has_system) throw;
    std::vector<chat::Message> merged(messages_.begin() + 1, messages_.end());
    merged[0].content = messages_[0].content + "\n\n" + merged[0].content;
    std::vector<int32_t> ids = chat_.prompt(merged, chat_options_);
    moved_system_ = true;
    return ids;
  }
}

// The prompt's last token always runs, because it gives the logits.
Generation Dialogue::answer(const std::string& text, const std::function<void(std::string_view)>& on_text) {
  std::vector<chat::Message> before = messages_;
  try {
    if (!text.empty()) messages_.push_back({"user", text});
    const std::vector<int32_t> ids = prompt();
    const auto all_but_last = std::span<const int32_t>(ids).first(ids.size() - 1);
    const int64_t kept = std::ranges::mismatch(sequence_.ids(), all_but_last).in1 - sequence_.ids().begin();
    sequence_.rewind(kept);
    GenerateOptions options = options_;
    options.on_text = on_text;
    Generation result = generate(engine_, sequence_, ids, options);
    messages_.push_back({"assistant", result.text});
    ++totals_.turns;
    totals_.kept_tokens += kept;
    totals_.read_tokens += std::ssize(ids) - kept;
    totals_.written_tokens += std::ssize(result.ids);
    return result;
  } catch (...) {
    messages_ = std::move(before);
    throw;
  }
}

bool Dialogue::drop_answer() {
  if (!is_assistant(messages_)) return false;
  messages_.pop_back();
  return true;
}

bool Dialogue::undo() {
  const bool had_answer = drop_answer();
  if (messages_.empty() || messages_.back().role != "user") return had_answer;
  messages_.pop_back();
  return true;
}

void Dialogue::set_system(const std::string& text) {
  if (!messages_.empty() && messages_.front().role == "system") messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), {"system", text});
}

std::string Dialogue::to_json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const chat::Message& message : messages_) all.push_back({{"role", message.role}, {"content", message.content}});
  return all.dump(2) + "\n";
}

void Dialogue::from_json(const std::string& json, const std::string& name) {
  const nlohmann::json all = parse_json(json);
  std::vector<chat::Message> messages;
  const auto is_text = [](const nlohmann::json& message, const char* key) {
    return message.is_object() && message.contains(key) && message.at(key).is_string();
  };
  for (const nlohmann::json& message : all) {
    if (!all.is_array() || !is_text(message, "role") || !is_text(message, "content"))
      throw Error("cannot load the conversation", name, "Expected a list of {\"role\", \"content\"} with texts");
    messages.push_back({message.at("role"), message.at("content")});
  }
  if (!all.is_array())
    throw Error("cannot load the conversation", name, "Expected a list of {\"role\", \"content\"} with texts");
  messages_ = std::move(messages);
}

}  // namespace tandem::app
