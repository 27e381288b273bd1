// Makes the prompts of a model's chats: its template, its tokens, and where an answer ends.
//
// Contract: special tokens are found in the template's own text alone; what people wrote is ordinary letters. The start
// token stands once at the beginning, even if both the template and the vocabulary add it. Refers to the tokenizer,
// which must outlive it. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/chat_template/chat_template.h"
#include "engine/model/gguf.h"
#include "tandem/tokenizer.h"

namespace tandem::chat {

inline constexpr const char* kTemplateKey = "tokenizer.chat_template";

struct Message {
  std::string role, content;
};

// A template as text: of a file, of a model, or one of the known forms.
struct TemplateSource {
  std::string text;
  std::string name;  // for errors
};
// tokenizer.chat_template, or tokenizer.chat_template.tool_use if there are tools and the file has it. Absent: the file
// has none. Error: it is no text.
std::optional<TemplateSource> template_of(const GgufFile& file, bool has_tools);
// One of the forms by name: chatml, gemma, llama2, llama3, mistral, phi3, zephyr. Error: an unknown name.
TemplateSource known_template(const std::string& name);
std::vector<std::string> known_templates();

class ModelChat {
 public:
  ModelChat(const TemplateSource& source, const Tokenizer& tokenizer);

  struct Options {
    bool add_generation_prompt = true;
    std::optional<bool> enable_thinking{};  // absent: the template decides
  };
  // An assistant's message at the end is continued: it stands behind the beginning of an answer, and nothing ends it.
  // TemplateRefusal; Error.
  std::vector<int32_t> prompt(const std::vector<Message>& messages, const Options& options) const;
  std::vector<int32_t> prompt(const Text& text) const;  // of what text() gave
  Text text(const std::vector<Message>& messages, const Options& options) const;
  // Any conversation, with tools for example. Nothing is continued.
  Text text(const Conversation& conversation, const Options& options) const;
  // Texts that end an answer because the vocabulary has no token of them.
  const std::vector<std::string>& stop_texts() const { return stop_texts_; }

 private:
  void find_stop_texts();
  const ChatTemplate template_;
  const Tokenizer& tokenizer_;
  std::string bos_, eos_;
  std::vector<std::string> stop_texts_;
};

// The ids of a rendered text; empty if it is.
std::vector<int32_t> ids_of(const Text& text, const Tokenizer& tokenizer);

}  // namespace tandem::chat
