#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sync/error.h"
#include "tests/engine/model/tokenizer/vocabulary_file.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_error(const VocabularyFile& file, const std::string& first, const std::string& second) {
  try {
    file.tokenizer();
    ADD_FAILURE() << "no error for " << first;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.gguf"));
    EXPECT_THAT(error.what(), HasSubstr(first));
    EXPECT_THAT(error.what(), HasSubstr(second));
  }
}

TEST(Vocabulary, an_unknown_model_or_pre_tokenizer_is_an_error_that_lists_what_is_supported) {
  VocabularyFile model = small_spm();
  model["model"] = std::string("rwkv");
  expect_error(model, "rwkv", "llama (SentencePiece BPE), gpt2 (byte-level BPE), bert (WordPiece), t5");
  model.erase("model");
  expect_error(model, "tokenizer.ggml.model", "no tokenizer");
  expect_error(small_bpe("a-new-one"), "a-new-one", "llama-bpe");
}

TEST(Vocabulary, missing_and_mismatched_arrays_are_errors_that_name_the_key) {
  VocabularyFile file = small_spm();
  file.erase("tokens");
  expect_error(file, "tokenizer.ggml.tokens", "no tokens");
  file = small_spm();
  file.kinds().pop_back();
  expect_error(file, "tokenizer.ggml.token_type", "entries for");
  file = small_spm();
  file["scores"] = std::vector<float>{1, 2};
  expect_error(file, "tokenizer.ggml.scores", "2 entries");
  file.erase("scores");
  expect_error(file, "tokenizer.ggml.scores", "needs scores");
  file = small_bpe();
  file.erase("merges");
  expect_error(file, "tokenizer.ggml.merges", "needs merges");
  file = small_bpe();
  file["tokens"] = std::vector<std::string>();
  expect_error(file, "tokenizer.ggml.tokens", "no tokens");
}

TEST(Vocabulary, bad_entries_are_errors_that_say_which) {
  VocabularyFile file = small_spm();
  file.kinds()[5] = 7;
  expect_error(file, "token 5", "type 7");
  file = small_spm();
  file.texts()[3] = "<0xZZ>";
  expect_error(file, "byte token 3", "<0xZZ>");
  file = small_spm();
  std::get<std::vector<float>>(file["scores"])[4] = std::nanf("");
  expect_error(file, "tokenizer.ggml.scores", "not a number");
  for (const char* merge : {"ab", "", " ab", "ab ", "a b c"}) {
    file = small_bpe();
    file["merges"] = std::vector<std::string>{"l l", merge};
    expect_error(file, "merge 1", "tokenizer.ggml.merges");
  }
}

TEST(Vocabulary, ids_out_of_range_are_errors_that_name_the_key) {
  for (const char* key : {"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id", "unknown_token_id"}) {
    VocabularyFile file = small_bpe();
    file[key] = uint32_t{262};
    expect_error(file, key, "262");
    file[key] = uint32_t{261};
    EXPECT_NO_THROW(file.tokenizer());
  }
}

TEST(Vocabulary, asking_for_a_token_that_is_not_named_is_an_error) {
  VocabularyFile file = small_bpe();
  file["add_bos_token"] = true;
  expect_error(file, "tokenizer.ggml.add_bos_token", "does not name");
}

TEST(Vocabulary, of_roberta_puts_texts_between_bos_and_eos) {
  VocabularyFile file = small_bpe("roberta-bpe");
  file["bos_token_id"] = static_cast<uint32_t>(file.add("<s>", 3));
  file["eos_token_id"] = static_cast<uint32_t>(file.add("</s>", 3));
  EXPECT_THAT(pieces(*file.tokenizer(), "he", {.add_bos_eos = true}), ElementsAre("<s>", "he", "</s>"));
  file["add_eos_token"] = false;
  EXPECT_THAT(pieces(*file.tokenizer(), "he", {.add_bos_eos = true}), ElementsAre("<s>", "he"));
}

TEST(Vocabulary, ends_are_found_by_id_and_by_text) {
  VocabularyFile file = small_bpe();
  const int32_t eot = file.add("<turn over>", 3), eom = file.add("<message over>", 3), im = file.add("<|im_end|>", 4);
  const int32_t end = file.add("<|end|>", 3);
  file["eos_token_id"] = uint32_t{260};
  file["eot_token_id"] = static_cast<uint32_t>(eot);
  file["eom_token_id"] = static_cast<uint32_t>(eom);
  const auto tokenizer = file.tokenizer();
  for (const int32_t id : {260, 261, eot, eom, im, end}) EXPECT_TRUE(tokenizer->is_end(id)) << id;
  EXPECT_FALSE(tokenizer->is_end(259));
  EXPECT_TRUE(tokenizer->is_special(im)) << "an end text is never output";
  EXPECT_EQ(tokenizer->eos(), 260);
  EXPECT_EQ(tokenizer->bos(), -1);
}

TEST(Vocabulary, a_message_end_is_no_end_where_turns_have_several_messages) {
  VocabularyFile file = small_bpe();
  const int32_t end = file.add("<|end|>", 3), returns = file.add("<|return|>", 3), call = file.add("<|call|>", 3);
  const auto tokenizer = file.tokenizer();
  EXPECT_FALSE(tokenizer->is_end(end));
  EXPECT_TRUE(tokenizer->is_end(returns));
  EXPECT_TRUE(tokenizer->is_end(call));
}

}  // namespace
}  // namespace tandem::testing
