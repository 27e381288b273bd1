// `tandem chat --render`: what a chat template makes of a conversation, alone on standard output.
#include <optional>
#include <regex>

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
  const Ended piped = tandem(
      {"chat", "--chat-template-file", files.form, "--messages", "-", "--render", "--now", "2026-02-03T04:05:06", "-q"},
      {.input = "[]"});
  EXPECT_EQ(piped.out, "03 Feb 2026");
  EXPECT_EQ(tandem({"chat", "--chat-template", "chatml", "--messages",
                    files.messages("[{\"role\": \"user\", \"content\": \"a\"}]"), "--render", "-v"})
                .out,
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
    return tandem({"chat", "-m", folder.file("model.gguf"), "--messages", folder.write("m.json", json), "--render"})
        .out;
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
  EXPECT_EQ(
      tandem({"chat", "--template-file", files.folder.file("none"), "--messages", files.messages("[]"), "--render"})
          .status,
      1);
}

// The default model answers; its template has a system message of its own.
struct Talk {
  std::optional<std::string> model = default_model();
  Ended operator()(const std::string& lines, const Arguments& more = {}) const {
    return tandem(Arguments{"chat", "-m", *model, "-n", "24"} + on_host() + more, {.input = lines});
  }
};

TEST(Chat, answers_line_by_line_through_a_pipe_and_reads_the_new_tokens_alone) {
  const Talk talk;
  if (!talk.model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const Ended ended = talk("What is the capital of France?\nAnd of Italy?\n/stats\n");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Paris"));
  EXPECT_THAT(ended.out, Not(HasSubstr("<|im_end|>")));
  std::smatch sums;
  const std::regex form("2 turns: ([0-9]+) tokens read, ([0-9]+) kept");
  ASSERT_TRUE(std::regex_search(ended.err, sums, form)) << ended.err;
  EXPECT_GT(std::stoi(sums[2]), 30) << "the first turn is not read again";
  EXPECT_LT(std::stoi(sums[1]), 80);
}

// A baseline drafts whenever something matches, and the second answer is much like the first.
TEST(Chat, writes_the_same_answers_with_drafts_of_each_kind_and_without) {
  const Talk talk;
  if (!talk.model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const std::string lines = "What is the capital of France?\nWhat is the capital of France?\n/stats\n";
  const auto answers = [&](const Arguments& flags) { return talk(lines, Arguments{"--temp", "0"} + flags); };
  const Ended plain = answers({"--spec", "none"}), drafted = answers({"--spec", "pld"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.err, Not(HasSubstr("drafts: ")));
  EXPECT_THAT(drafted.err, HasSubstr("drafts: "));
  EXPECT_EQ(drafted.out, plain.out);
  EXPECT_EQ(answers({"--spec", "sdnpu"}).out, plain.out);
  EXPECT_THAT(answers({"--spec", "pld", "--draft-max", "0"}).err, Not(HasSubstr("drafts: ")));
}

TEST(Chat, takes_turns_back_and_saves_and_loads) {
  const Talk talk;
  if (!talk.model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const Folder folder;
  const std::string file = folder.file("chat.json"), second = folder.file("second.json");
  const Ended ended = talk("/system Be brief.\nHi\n/save " + file + "\n/undo\n/save " + second + "\n/load " + file +
                           "\n/again\n/set temp 0.5\n/set seed 7\nA line \\\nand another\n/quit\nnever\n");
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json saved = json::parse(std::ifstream(file));
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[0], (json{{"role", "system"}, {"content", "Be brief."}}));
  EXPECT_EQ(saved[1].at("content"), "Hi");
  EXPECT_EQ(saved[2].at("role"), "assistant");
  EXPECT_EQ(json::parse(std::ifstream(second)).size(), 1u);
}

// A tiny model that was trained on no chats. Its sampled tokens are often others than those of its text.
Ended talk_of_stories(const std::string& lines, const Arguments& more = {}) {
  return tandem(Arguments{"chat", "-m", stories(), "--chat-template", "chatml", "--seed", "5"} + on_host() + more,
                {.input = lines});
}

// The model drafts for itself. Each token but the first one of an answer runs again alone.
TEST(Chat, checks_drafts_of_a_model_by_running_each_token_again_alone) {
  const Arguments greedy{"--temp", "0", "--ignore-eos", "-n", "40"};
  const std::string lines = "Once upon a time\nLily had a cat.\n/stats\n";
  const Ended plain = talk_of_stories(lines, greedy + Arguments{"--spec", "none"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.err, Not(HasSubstr("ran again alone")));
  for (const std::string mode : {"auto", "sdnpu"}) {
    const Ended checked =
        talk_of_stories(lines, greedy + Arguments{"--spec", mode, "--draft-model", stories(), "--spec-check"});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_EQ(checked.out, plain.out) << mode;
    EXPECT_THAT(checked.err, HasSubstr("78 tokens ran again alone and had the same bits")) << mode;
    EXPECT_THAT(checked.err, Not(HasSubstr("without the draft model"))) << mode;
  }
}

TEST(Chat, refuses_draft_models_and_checks_that_cannot_be_used) {
  const Folder folder;
  const std::string other = toy_mixture(folder, 1, 64), missing = folder.file("missing.gguf");
  const Ended vocabulary = talk_of_stories("Hi\n", {"--draft-model", other});
  EXPECT_EQ(vocabulary.status, 1);
  EXPECT_EQ(vocabulary.out, "");
  EXPECT_THAT(vocabulary.err, HasSubstr("the draft model has another vocabulary: " + other));
  const Ended without = talk_of_stories("Hi\n", {"--draft-model", missing});
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.err, HasSubstr(missing));
  const Ended rule = talk_of_stories("Hi\n", {"--draft-model", stories(), "--spec", "pld"}),
              check = talk_of_stories("Hi\n", {"--spec-check", "--spec", "none"});
  EXPECT_EQ(rule.status, 2);
  EXPECT_THAT(rule.err, HasSubstr("--draft-model excludes --spec pld"));
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(check.err, HasSubstr("--spec-check excludes --spec none"));
}

// The first number behind `before`.
long number_behind(const std::string& text, const std::string& before, size_t from = 0) {
  const size_t place = text.find(before, from);
  return place == std::string::npos ? -1 : std::stol(text.substr(place + before.size()));
}

TEST(Chat, reads_each_token_of_twenty_turns_once) {
  std::string lines;
  for (int turn = 0; turn < 20; ++turn) lines += "Hi\n/stats\n";
  const Ended ended = talk_of_stories(lines, {"-n", "12", "--temp", "2.5", "-c", "4096"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto read_after = [&](int turns) {
    return number_behind(ended.err, "\n" + std::to_string(turns) + " turns: ");
  };
  // The marks around "Hi" and the last token of the answer before it.
  const long of_a_turn = read_after(2) - read_after(1);
  ASSERT_GT(of_a_turn, 0) << ended.err;
  EXPECT_LE(read_after(20), read_after(1) + 19 * (of_a_turn + 1));
  EXPECT_GT(number_behind(ended.err, " tokens read, ", ended.err.find("\n20 turns")), 19 * 12);
}

TEST(Chat, goes_on_with_an_answer_that_is_not_complete) {
  const Folder folder;
  const std::string file = folder.file("chat.json");
  const Ended whole = talk_of_stories("Once\n", {"-n", "16", "-q"});
  const Ended parts = talk_of_stories("Once\n/continue\n/save " + file + "\n", {"-n", "8"});
  ASSERT_EQ(parts.status, 0) << parts.err;
  const std::string answer = json::parse(content_of(file)).at(1).at("content");
  EXPECT_EQ(answer + "\n", whole.out) << "as if it had been written at once";
  EXPECT_THAT(parts.err, HasSubstr("/continue goes on"));
  EXPECT_THAT(talk_of_stories("/continue\n").err, HasSubstr("there is no answer to go on with"));
}

TEST(Chat, takes_messages_of_several_lines) {
  const Folder folder;
  const std::string file = folder.file("chat.json");
  const Ended ended = talk_of_stories(
      "one \\\ntwo\n\"\"\"three\n/four\n\nfive\"\"\"\n\"\"\"six\"\"\"\n/save " + file + "\n", {"-n", "1"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const json saved = json::parse(content_of(file));
  EXPECT_EQ(saved.at(0).at("content"), "one \ntwo");
  EXPECT_EQ(saved.at(2).at("content"), "three\n/four\n\nfive");
  EXPECT_EQ(saved.at(4).at("content"), "six");
}

TEST(Chat, records_an_answer_as_a_picture_or_a_trace) {
  const Folder folder;
  const std::string picture = folder.file("a.svg"), trace = folder.file("a.json");
  const Ended ended = talk_of_stories("/trace " + picture + "\nHi\n/trace " + trace + "\nHi\nHi\n", {"-n", "2"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(content_of(picture), HasSubstr("<svg"));
  EXPECT_TRUE(json::parse(content_of(trace)).contains("traceEvents"));
  for (const std::string& wrong : {std::string("/trace"), std::string("/trace x.txt"), "/save " + stories()}) {
    const Ended refused = talk_of_stories(wrong + "\n");
    EXPECT_EQ(refused.status, 1) << wrong;
    EXPECT_THAT(refused.out, IsEmpty());
  }
  EXPECT_THAT(talk_of_stories("/save " + stories() + "\n").err, HasSubstr("the file is the model"));
}

TEST(Chat, says_that_the_context_is_full_and_what_to_do) {
  const Ended ended = talk_of_stories("Once\n/stats\n", {"-c", "64", "--ignore-eos"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the context of 64 tokens is full, and the answer is not complete; /undo"));
  EXPECT_THAT(ended.err, HasSubstr("64 of the context's 64 tokens are in use"));
  const Ended more = talk_of_stories("Once\nAgain\n/undo\n/again\n", {"-c", "64", "--ignore-eos"});
  EXPECT_EQ(more.status, 1);
  EXPECT_THAT(more.err, HasSubstr("the conversation does not fit the context"));
  EXPECT_THAT(more.err, HasSubstr("--ctx-size"));
}

TEST(Chat, shows_and_changes_its_settings) {
  const Ended ended = talk_of_stories("/set temp 0.5\n/set top-k 7\n/set seed 9\n/set predict 3\n/set\nHi\n/again\n");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("temp 0.5, top-k 7,"));
  EXPECT_THAT(ended.err, HasSubstr("predict 3, seed 9"));
}

TEST(Chat, names_wrong_commands_and_goes_on) {
  const Talk talk;
  if (!talk.model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const Ended ended =
      talk("/nonsense\n/again\n/undo\n/set temp hot\n/set x 1\n/save\n/load /none/there\n/help\n\nHi\n");
  EXPECT_EQ(ended.status, 1) << "a program has only the status";
  EXPECT_THAT(ended.out, Not(IsEmpty()));
  for (const char* said :
       {"/nonsense", "no answer yet", "nothing to take back", "temp hot", "/none/there", "/system TEXT"})
    EXPECT_THAT(ended.err, HasSubstr(said));
}

// Bytes that are no text ended the program at /save, which has no spelling for them in JSON.
TEST(Chat, refuses_words_of_the_system_that_are_no_text_and_goes_on) {
  const Folder folder;
  const std::string file = folder.file("chat.json");
  const Ended ended = talk_of_stories("/set predict 3\n/system caf\xE9\nHi\n/save " + file + "\n");
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no text in UTF-8"));
  EXPECT_EQ(json::parse(std::ifstream(file)).size(), 2u) << "the question and its answer";
  EXPECT_EQ(talk_of_stories("Hi\n", {"--system", "caf\xE9"}).status, 1);
}

// Calls of functions in a file were dropped in silence.
TEST(Chat, refuses_to_load_messages_with_more_than_texts) {
  const Folder folder;
  const std::string file = folder.file("chat.json");
  std::ofstream(file) << R"([{"role": "assistant", "content": "x", "tool_calls": []}])";
  const Ended ended = talk_of_stories("/load " + file + "\n");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("nothing else"));
}

TEST(Chat, puts_a_system_message_before_the_first_users_words_where_the_template_refuses_it) {
  const Talk talk;
  if (!talk.model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const Ended ended = talk("Hi\n", {"--system", "Be brief.", "--chat-template", "gemma", "--reasoning", "off"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the template refuses a system message"));
  EXPECT_EQ(talk("Hi\n", {"--reasoning", "perhaps"}).status, 2);
  EXPECT_EQ(tandem({"chat", "-q"}, {.input = "Hi\n"}).status, 2) << "no model";
}

}  // namespace
}  // namespace tandem::testing
