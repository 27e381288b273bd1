// A model's chat template: turns a conversation into the text that the model was trained on.
//
// The language is Jinja's, as Hugging Face's transformers sets it up (docs/chat.md). A construct that is not known here
// is an Error that names it and its line. Contract: immutable, so any number of threads may render at once. A rendering
// ends within a second and 256 MB, or is an Error. Texts are UTF-8.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/chat_template/text.h"
#include "sync/error.h"

namespace tandem::chat {

// The template's own words: `raise_exception('System role not supported')`.
class TemplateRefusal : public Error {
 public:
  using Error::Error;
};

struct Message;

// The variables that a template is rendered with, as values of its language.
class Conversation {
 public:
  static Conversation of(const std::vector<Message>& messages);
  // A list of messages, or an object with `messages` and, if wanted, `tools`, `documents`, `add_generation_prompt`,
  // `bos_token`, `eos_token` and `chat_template_kwargs`. name: of the JSON, for errors. Error: it is none.
  static Conversation read(std::string_view json, const std::string& name);
  Conversation(Conversation&&) noexcept;
  ~Conversation();

  bool has_tools() const;
  bool gives(std::string_view name) const;  // a value of that name
  // Whether the last message is the assistant's, so that it is to be continued.
  bool ends_with_assistant() const;
  struct Given;
  const Given& given() const { return *given_; }

 private:
  explicit Conversation(std::unique_ptr<Given> given);
  std::unique_ptr<Given> given_;
};

struct RenderOptions {
  std::tm now{};  // what strftime_now shows
  // Values that replace those of the conversation.
  std::optional<bool> add_generation_prompt{}, enable_thinking{};
  std::optional<std::string> bos_token{}, eos_token{};
};

class ChatTemplate {
 public:
  // name: for errors, "model.gguf: tokenizer.chat_template". Error: it is no template.
  ChatTemplate(std::string_view source, std::string name);
  ChatTemplate(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // TemplateRefusal; Error.
  Text render(const Conversation& conversation, const RenderOptions& options) const;

 private:
  struct Parsed;
  std::unique_ptr<const Parsed> parsed_;
};

// The local time of this moment; "2026-02-03T04:05:06" as a time (absent: it is none).
std::tm local_time();
std::optional<std::tm> read_time(std::string_view text);

}  // namespace tandem::chat
