// A model's template together with its tokenizer: from a conversation to token ids, and which texts end an answer.
#include "engine/model/chat_template/model_chat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/model/chat_template/conversation.h"

namespace tandem::chat {
namespace {

constexpr const char* kToolsKey = "tokenizer.chat_template.tool_use";

struct KnownTemplate {
  const char* name;
  const char* text;
};
// The forms in their shortest spelling: turns of a role and a text, with nothing added.
constexpr KnownTemplate kKnown[] = {
    {"chatml",
     "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{{ '' }}{% endfor %}"
     "{% if add_generation_prompt %}<|im_start|>assistant\n{{ '' }}{% endif %}"},
    {"gemma",
     "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') "
     "}}"
     "{% endif %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim "
     "}}<end_of_turn>\n"
     "{{ '' }}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{{ '' }}{% endif %}"},
    {"llama2",
     "{% for m in messages %}{% if m.role == 'system' %}{% elif m.role == 'user' %}{{ bos_token }}[INST] "
     "{% if loop.previtem is defined and loop.previtem.role == 'system' %}<<SYS>>\n{{ loop.previtem.content }}\n"
     "<</SYS>>\n\n{% endif %}{{ m.content }} [/INST]{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"},
    {"llama3",
     "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
     "<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{{ '' }}"
     "{% endif %}"},
    {"mistral",
     "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] "
     "{% if loop.previtem is defined and loop.previtem.role == 'system' %}{{ loop.previtem.content }}\n\n{% endif %}"
     "{{ m.content }} [/INST]{% elif m.role == 'assistant' %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"},
    {"phi3",
     "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{{ '' }}{% endfor %}"
     "{% if add_generation_prompt %}<|assistant|>\n{{ '' }}{% endif %}"},
    {"zephyr",
     "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token }}\n{{ '' }}{% endfor %}"
     "{% if add_generation_prompt %}<|assistant|>\n{{ '' }}{% endif %}"},
};

// A vocabulary may lack a token. Its text is empty then, and the template writes nothing in its place.
std::string text_of_token(const Tokenizer& tokenizer, int32_t id) { return id < 0 ? "" : tokenizer.piece(id, true); }

}  // namespace

// A template for tools counts only if the conversation has tools, and the usual one stands in for it.
std::optional<TemplateSource> template_of(const GgufFile& file, bool has_tools) {
  for (const char* key : {has_tools ? kToolsKey : kTemplateKey, kTemplateKey}) {
    const std::string type = file.type_of(key);
    if (type.empty()) continue;
    const std::string name = file.path() + ": " + key;
    if (type != "string")
      throw Error("the model's chat template is no text but " + type, name,
                  "Give another template with --chat-template or --chat-template-file");
    if (std::string text = *file.get_string(key); !text.empty()) return TemplateSource{std::move(text), name};
  }
  return std::nullopt;
}

// The names that `--chat-template` takes.
std::vector<std::string> known_templates() {
  std::vector<std::string> names;
  for (const KnownTemplate& each : kKnown) names.emplace_back(each.name);
  return names;
}

// Some files have no template or a broken one, so the common ones are built in by name.
TemplateSource known_template(const std::string& name) {
  const auto known = std::ranges::find_if(kKnown, [&name](const KnownTemplate& each) { return name == each.name; });
  if (known != std::end(kKnown)) return {known->text, "the chat template " + name};
  std::string names;
  for (const KnownTemplate& each : kKnown) names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw Error("there is no chat template of that name", name, "There are " + names);
}

// The template is parsed and tried once, when a model is opened. Its stop texts follow from the trial.
ModelChat::ModelChat(const TemplateSource& source, const Tokenizer& tokenizer)
    : template_(source.text, source.name),
      tokenizer_(tokenizer),
      bos_(text_of_token(tokenizer, tokenizer.bos())),
      eos_(text_of_token(tokenizer, tokenizer.eos())) {
  find_stop_texts();
}

// Templates get the clock and the special tokens as variables.
Text ModelChat::text(const Conversation& conversation, const Options& options) const {
  RenderOptions render;
  render.now = local_time();
  render.add_generation_prompt = options.add_generation_prompt;
  render.enable_thinking = options.enable_thinking;
  render.bos_token = bos_;
  render.eos_token = eos_;
  return template_.render(conversation, render);
}

// An answer that was begun is continued: the template renders what is before it, and its words stand behind that
// without an end token.
Text ModelChat::text(const std::vector<Message>& messages, const Options& options) const {
  const bool continues = options.add_generation_prompt && !messages.empty() && messages.back().role == "assistant";
  if (!continues) return text(Conversation::of(messages), options);
  Text begun = text(Conversation::of({messages.begin(), messages.end() - 1}), options);
  begun.append(messages.back().content, Author::conversation);
  return begun;
}

std::vector<int32_t> ModelChat::prompt(const std::vector<Message>& messages, const Options& options) const {
  return prompt(text(messages, options));
}

// Only marks that the template has written become special tokens. The same letters within a message stay letters, so a
// user cannot close a turn.
std::vector<int32_t> ModelChat::prompt(const Text& text) const {
  std::vector<int32_t> ids = ids_of(text, tokenizer_);
  if (ids.empty() && tokenizer_.bos() >= 0) ids.push_back(tokenizer_.bos());
  // A model without a start token needs at least one token to continue.
  if (ids.empty()) throw Error("the chat template renders nothing", "the conversation", "Give it some text");
  return ids;
}

// Takes the text that the template writes behind an answer, up to the line's end. An end token in it is enough.
void ModelChat::find_stop_texts() {
  constexpr std::string_view kAnswer = "Fine";
  constexpr size_t kLongest = 64;
  std::string behind;
  try {
    // Authors tell the answer from the template's text behind it, whatever the template writes in front.
    bool is_behind = false;
    text({{"user", "Hi"}, {"assistant", std::string(kAnswer)}}, {.add_generation_prompt = false})
        .each_stretch([&](std::string_view stretch, Author author) {
          if (author == Author::conversation && stretch.find(kAnswer) != std::string_view::npos)
            is_behind = true;
          else if (is_behind && behind.empty())
            behind = stretch;
        });
  } catch (const Error&) {
    return;  // a template may refuse this conversation and render others
  }
  behind = behind.substr(0, behind.find('\n'));
  const size_t begin = std::min(behind.find_first_not_of(' '), behind.size());
  behind = behind.substr(begin, behind.find_last_not_of(' ') + 1 - begin);
  const auto ids = tokenizer_.encode(behind, {.add_bos_eos = false, .parse_special = true});
  const bool has_end = std::ranges::any_of(ids, [this](int32_t id) { return tokenizer_.is_end(id); });
  if (behind.size() > 2 && behind.size() <= kLongest && !has_end) stop_texts_.push_back(behind);
}

// The tokenizer looks for special tokens in the template's stretches alone.
std::vector<int32_t> ids_of(const Text& text, const Tokenizer& tokenizer) {
  std::vector<TextPart> parts;
  text.each_stretch([&parts](std::string_view stretch, Author author) {
    parts.push_back({std::string(stretch), author == Author::chat_template});
  });
  return tokenizer.encode(parts);
}

}  // namespace tandem::chat
