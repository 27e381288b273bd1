// `tandem chat --render`: what a chat template makes of a conversation, alone on standard output.
#include "tests/engine/app/commands/whole.h"
#include "tests/support/gguf_writer.h"

namespace tandem::testing {
namespace {

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}{{ strftime_now('%d %b %Y') }}"
    "{% if tools %}T{% endif %}";

struct Files {
  Folder folder;
  std::string form = folder.write("t.jinja", kTemplate);
  std::string messages(const std::string& json) const { return folder.write("m.json", json); }
  Ended render(const std::string& json, const Arguments& more = {"--now", "2026-02-03T04:05:06"}) const {
    return tandem(Arguments{"chat", "--template-file", form, "--messages", messages(json), "--render"} + more);
  }
};

TEST(Chat, prints_the_rendering_and_nothing_else) {
  const Files files;
  const Ended ended = files.render(R"([{"role": "user", "content": "Hi {{ 7*7 }} é"}])");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out, "<|user|>Hi {{ 7*7 }} \xC3\xA9\n03 Feb 2026");
  EXPECT_THAT(ended.err, IsEmpty());
  const Ended full = files.render(R"({"messages": [], "bos_token": "<s>", "tools": [1]})");
  EXPECT_EQ(full.out, "<s>03 Feb 2026T");
  const Ended piped = tandem({"chat", "--chat-template-file", files.form, "--messages", "-", "--render", "--now",
                              "2026-02-03T04:05:06", "-q"}, {.input = "[]"});
  EXPECT_EQ(piped.out, "03 Feb 2026");
  EXPECT_EQ(tandem({"chat", "--chat-template", "chatml", "--messages", files.messages("[{\"role\": \"user\", \"content\": \"a\"}]"),
                    "--render", "-v"}).out,
            "<|im_start|>user\na<|im_end|>\n");
}

TEST(Chat, says_the_templates_refusal_on_standard_error_alone) {
  const Files files;
  files.folder.write("t.jinja", "a{{ raise_exception('Only \xC3\xA9 users') }}");
  const Ended ended = files.render("[]");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, IsEmpty());
  EXPECT_THAT(ended.err, HasSubstr("Only \xC3\xA9 users"));
  files.folder.write("t.jinja", "a\n{{ 'x' | urlize }}");
  const Ended unknown = files.render("[]");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.out, IsEmpty());
  EXPECT_THAT(unknown.err, HasSubstr("t.jinja: line 2"));
}

TEST(Chat, takes_template_and_tokens_of_a_model) {
  const Folder folder;
  GgufWriter writer = tiny_writer(TinyModel{});
  writer.set("tokenizer.chat_template", std::string("{{ bos_token }}|{{ messages[0].content }}"));
  writer.set("tokenizer.chat_template.tool_use", std::string("tools|{{ messages[0].content }}"));
  write_file(folder.file("model.gguf"), writer.bytes());
  const auto render = [&](const std::string& json) {
    return tandem({"chat", "-m", folder.file("model.gguf"), "--messages", folder.write("m.json", json), "--render"}).out;
  };
  EXPECT_EQ(render(R"({"messages": [{"role": "user", "content": "a"}], "bos_token": "<mine>"})"), "<mine>|a");
  EXPECT_THAT(render(R"([{"role": "user", "content": "a"}])"), Not(StartsWith("|"))) << "the model's own token";
  EXPECT_EQ(render(R"({"messages": [{"role": "user", "content": "a"}], "tools": [{}]})"), "tools|a");
}

TEST(Chat, refuses_what_it_cannot_use) {
  const Files files;
  EXPECT_EQ(files.render("[]", {"--now", "yesterday"}).status, 2);
  EXPECT_EQ(files.render("[]", {"--chat-template", "chatml"}).status, 2) << "two templates";
  EXPECT_EQ(tandem({"chat", "--messages", files.messages("[]"), "--render"}).status, 2) << "no template";
  EXPECT_EQ(tandem({"chat", "--template-file", files.form, "--render"}).status, 2) << "no messages";
  EXPECT_EQ(tandem({"chat", "--template-file", files.form, "--messages", files.messages("[]")}).status, 2);
  for (const char* json : {"", "{", "{\"messages\": 3}", "[] []", "{\"messages\": [], \"x\": 1}"}) {
    const Ended ended = files.render(json);
    EXPECT_EQ(ended.status, 1) << json;
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_THAT(ended.err, HasSubstr("m.json")) << json;
  }
  EXPECT_EQ(tandem({"chat", "--template-file", files.folder.file("none"), "--messages", files.messages("[]"), "--render"}).status, 1);
}

}  // namespace
}  // namespace tandem::testing
