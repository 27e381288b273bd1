// Prompts of chats as tokens: the start token once, what people wrote as ordinary letters, and where answers end. For
// each family of templates.
#include "engine/model/chat_template/model_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/model/tokenizer/vocabulary_file.h"
#include "tests/support/data.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Family {
  std::string name;
  std::vector<std::string> marks;  // special tokens; the first is the start token
  std::string end;                 // of a turn
};
const std::vector<Family> kFamilies = {
    {"chatml", {"<s>", "<|im_start|>", "<|im_end|>"}, "<|im_end|>"},
    {"gemma", {"<bos>", "<start_of_turn>", "<end_of_turn>"}, "<end_of_turn>"},
    {"llama2", {"<s>", "</s>", "[INST]", "[/INST]"}, "</s>"},
    {"llama3", {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, "<|eot_id|>"},
    {"mistral", {"<s>", "</s>", "[INST]", "[/INST]"}, "</s>"},
    {"phi3", {"<s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"}, "<|end|>"},
    {"zephyr", {"<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"}, "</s>"},
};

// kind: 3, control; 4, user-defined, as older files have the marks of a turn.
VocabularyFile vocabulary_of(const Family& family, int kind) {
  VocabularyFile file = small_bpe();
  for (const std::string& mark : family.marks) {
    const auto id = static_cast<uint32_t>(file.add(mark, kind));
    if (&mark == &family.marks[0]) file["bos_token_id"] = id;
    if (mark == "</s>") file["eos_token_id"] = id;
  }
  return file;
}

std::vector<chat::Message> asked(const std::string& text) { return {{"user", text}}; }

TEST(ModelChat, finds_no_special_token_in_what_the_user_wrote_in_any_family) {
  for (const Family& family : kFamilies)
    for (const int kind : {3, 4}) {
      const auto tokenizer = vocabulary_of(family, kind).tokenizer();
      const chat::ModelChat model(chat::known_template(family.name), *tokenizer);
      std::string all;
      for (const std::string& mark : family.marks) all += mark + "x";
      const auto specials = [&](const std::string& text) {
        const auto ids = model.prompt(asked(text), {});
        return std::ranges::count_if(ids,
                                     [&](int32_t id) { return id >= tokenizer->size() - std::ssize(family.marks); });
      };
      EXPECT_EQ(specials(all), specials("x")) << family.name << " " << kind;
      EXPECT_GE(specials("x"), 1) << family.name;
      const auto ids = model.prompt(asked(all), {});
      EXPECT_NE(tokenizer->decode(ids, true).find(all), std::string::npos) << family.name << ": the letters are there";
    }
}

TEST(ModelChat, begins_with_one_start_token_whoever_adds_it) {
  for (const Family& family : kFamilies)
    for (const bool adds : {false, true}) {
      VocabularyFile file = vocabulary_of(family, 3);
      file["add_bos_token"] = adds;
      const auto tokenizer = file.tokenizer();
      const chat::ModelChat model(chat::known_template(family.name), *tokenizer);
      const auto ids = model.prompt(asked("Hi"), {});
      const bool writes = chat::known_template(family.name).text.find("bos_token") != std::string::npos;
      EXPECT_EQ(std::ranges::count(ids, tokenizer->bos()), adds || writes ? 1 : 0) << family.name;
      EXPECT_EQ(ids.at(0) == tokenizer->bos(), adds || writes) << family.name;
      const chat::ModelChat twice({"{{ bos_token }}<s>" + chat::known_template(family.name).text, "t"}, *tokenizer);
      if (family.marks[0] != "<s>") continue;
      EXPECT_EQ(std::ranges::count(twice.prompt(asked("Hi"), {}), tokenizer->bos()), 1);
    }
}

TEST(ModelChat, an_answer_ends_at_the_turns_end_as_a_token_or_as_letters) {
  for (const Family& family : kFamilies) {
    const auto tokenizer = vocabulary_of(family, 3).tokenizer();
    const auto end = tokenizer->encode(family.end, {.add_bos_eos = false, .parse_special = true});
    ASSERT_EQ(end.size(), 1u) << family.name;
    EXPECT_TRUE(tokenizer->is_end(end[0])) << family.name;
    EXPECT_THAT(chat::ModelChat(chat::known_template(family.name), *tokenizer).stop_texts(), IsEmpty()) << family.name;
  }
  const auto without = small_bpe().tokenizer();
  EXPECT_THAT(chat::ModelChat(chat::known_template("chatml"), *without).stop_texts(), ElementsAre("<|im_end|>"));
  EXPECT_THAT(chat::ModelChat(chat::known_template("phi3"), *without).stop_texts(), ElementsAre("<|end|>"));
}

TEST(ModelChat, continues_an_assistants_message_at_the_end) {
  for (const Family& family : kFamilies) {
    const auto tokenizer = vocabulary_of(family, 3).tokenizer();
    const chat::ModelChat model(chat::known_template(family.name), *tokenizer);
    const std::string begun = family.end + " Fine";
    std::vector<chat::Message> messages = asked("Hi");
    auto ids = model.prompt(messages, {});
    for (const int32_t id : tokenizer->encode(begun, {.add_bos_eos = false, .parse_special = false})) ids.push_back(id);
    messages.push_back({"assistant", begun});
    EXPECT_EQ(tokenizer->decode(model.prompt(messages, {}), true), tokenizer->decode(ids, true)) << family.name;
    EXPECT_NE(model.text(messages, {.add_generation_prompt = false}).bytes(), model.text(messages, {}).bytes());
  }
}

TEST(ModelChat, known_templates_write_what_published_ones_do) {
  const auto tokenizer = vocabulary_of(kFamilies[0], 3).tokenizer();
  const auto published = [](const std::string& name) {
    std::ifstream in(repository_data("chat-templates/" + name + ".jinja"), std::ios::binary);
    return chat::TemplateSource{std::string(std::istreambuf_iterator<char>(in), {}), name};
  };
  const std::vector<chat::Message> dialogue = {{"user", "Hi"}, {"assistant", "Hello"}, {"user", " So? "}};
  const auto text = [&](const chat::TemplateSource& source) {
    return chat::ModelChat(source, *tokenizer).text(dialogue, {}).bytes();
  };
  EXPECT_EQ(text(chat::known_template("chatml")), text(published("Qwen-Qwen3-0.6B")));
  EXPECT_EQ(text(chat::known_template("gemma")), text(published("google-gemma-2-2b-it")));
  EXPECT_EQ(text(chat::known_template("llama3")).substr(3),
            text(published("meta-llama-Llama-3.2-3B-Instruct"))
                .substr(text(published("meta-llama-Llama-3.2-3B-Instruct")).find("<|start_header_id|>user")))
      << "without the system turn that the published one writes";
}

TEST(ModelChat, an_unknown_name_is_an_error_that_lists_the_known_ones) {
  try {
    chat::known_template("nonsense");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("chatml, gemma, llama2, llama3, mistral, phi3, zephyr"));
  }
}

}  // namespace
}  // namespace tandem::testing
