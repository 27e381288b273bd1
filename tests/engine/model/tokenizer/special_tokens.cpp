#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/model/tokenizer/vocabulary_file.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

constexpr EncodeOptions kNoSpecial = {.add_bos_eos = true, .parse_special = false};

TEST(SpecialTokens, control_tokens_in_text_are_found_only_on_request) {
  VocabularyFile file = small_bpe();
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "he<|endoftext|>ll"), ElementsAre("he", "<|endoftext|>", "ll"));
  const std::vector<int32_t> plain = tokenizer->encode("he<|endoftext|>ll", kNoSpecial);
  for (const int32_t id : plain) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(plain, false), "he<|endoftext|>ll");
}

TEST(SpecialTokens, user_defined_tokens_are_always_found_also_inside_a_word) {
  VocabularyFile file = small_bpe();
  file.add("el", 4);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "hello", kNoSpecial), ElementsAre("h", "el", "l", "o"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("hello", {}), false), "hello");
}

TEST(SpecialTokens, the_longer_token_wins_wherever_it_stands) {
  VocabularyFile file = small_bpe();
  file.add("<a>", 4);
  file.add("<a><b>", 4);
  file.add("><b>!", 4);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "<a><a><b>"), ElementsAre("<a>", "<a><b>"));
  EXPECT_THAT(pieces(*tokenizer, "<a><b>!"), ElementsAre("<a><b>", "!"));
  EXPECT_THAT(pieces(*tokenizer, "<a<b>!<a>"), ElementsAre("<", "a", "<", "b", ">", "!", "<a>"));
}

TEST(SpecialTokens, special_texts_are_output_only_on_request) {
  VocabularyFile file = small_bpe();
  const auto tokenizer = file.tokenizer();
  const std::vector<int32_t> ids = tokenizer->encode("he<|endoftext|>", {});
  EXPECT_EQ(tokenizer->decode(ids, true), "he<|endoftext|>");
  EXPECT_EQ(tokenizer->decode(ids, false), "he");
}

}  // namespace
}  // namespace tandem::testing
