// `tandem chat`: the flags of a conversation at the terminal, and `--render`, which only prints what a template makes
// of messages.
#include "engine/app/commands/text/chat.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "engine/app/commands/text/chat_terminal.h"
#include "engine/app/commands/text/draft_flags.h"
#include "engine/app/commands/text/prompting.h"
#include "engine/app/file_flags.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/model/chat_template/chat_template.h"
#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// The texts of a model's start and end tokens are the usual values of `bos_token` and `eos_token`.
void take_tokens(const GgufFile& file, const chat::Conversation& conversation, chat::RenderOptions& options) {
  const auto tokenizer = make_tokenizer(file);
  const auto text = [&](int32_t id) { return id < 0 ? std::string() : tokenizer->piece(id, true); };
  if (!conversation.gives("bos_token")) options.bos_token = text(tokenizer->bos());
  if (!conversation.gives("eos_token")) options.eos_token = text(tokenizer->eos());
}

}  // namespace

// Renders without running a model. A model's file is read for its template and its tokens alone.
int render_chat_command(const ChatFlags& flags) {
  apply_verbosity(flags.common);
  const std::string name = flags.messages == "-" ? "standard input" : flags.messages;
  const chat::Conversation conversation = chat::Conversation::read(read_file(flags.messages), name);
  chat::RenderOptions options;
  options.now = flags.now.empty() ? chat::local_time() : *chat::read_time(flags.now);
  std::optional<GgufFile> file;
  if (!flags.common.model.empty()) {
    file.emplace(GgufFile::open(flags.common.model));
    take_tokens(*file, conversation, options);
  }
  const auto source = chosen_template(flags.common, file ? &*file : nullptr, conversation.has_tools());
  if (!source)
    throw Error("the model has no chat template", flags.common.model,
                "Give one with --chat-template or --chat-template-file");
  const chat::Text text = chat::ChatTemplate(source->text, source->name).render(conversation, options);
  std::cout << text.bytes();
  return kDone;
}

// Two commands in one: with --render no model is run, and there is a file of messages.
void add_chat(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  reads_file(app.add_option("-m,--model", flags->common.model,
                            "the model file (GGUF); with --render its template and special tokens are used"))
      ->envname("TANDEM_MODEL");
  add_template_flags(app, flags->common);
  app.add_option("--system", flags->system, "a message that says what the model should be");
  app.add_option("--reasoning", flags->reasoning,
                 "whether the model thinks before it answers, if its template has that")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  CLI::Option* render =
      app.add_flag("--render", flags->render, "print what the template makes of --messages, and nothing else");
  CLI::Option* messages = reads_file(
      app.add_option("--messages", flags->messages,
                     "a JSON file: a list of messages, or an object with \"messages\", \"tools\", \"documents\", "
                     "\"add_generation_prompt\", \"bos_token\", \"eos_token\", \"chat_template_kwargs\"; - is "
                     "standard input"));
  render->needs(messages);
  messages->needs(render);
  app.add_option("--now", flags->now, "the time that the template sees: 2026-02-03T04:05:06")
      ->needs(render)
      ->check([](const std::string& text) {
        return chat::read_time(text) ? std::string() : "expected a time such as 2026-02-03T04:05:06";
      });
  flags->common.generate.predict = -1;  // an answer ends by itself
  add_sampling_flags(app, flags->common);
  add_spec_flags(app, flags->common);
  add_engine_flags(app, flags->common);
  for (const char* name : {"--trace", "--soc"}) app.remove_option(app.get_option(name));
  add_compile_flag(app, flags->common);
  add_output_flags(app, flags->common);
  app.remove_option(app.get_option("--json"));
  app.callback([flags, &action] {
    const CommonFlags& common = flags->common;
    const bool has_template = !common.chat_template.empty() || !common.chat_template_file.empty();
    if (common.model.empty() && !(flags->render && has_template))
      throw CLI::RequiredError(flags->render ? "--chat-template-file, --chat-template or --model" : "--model");
    require_used_drafts(common);
    action = [flags] { return flags->render ? render_chat_command(*flags) : chat_command(*flags); };
  });
}

}  // namespace tandem::app
