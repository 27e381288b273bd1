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

// Phi-3's marks strip the text to their right. They strip a text of parts as if it were one.
TEST(SpecialTokens, of_phi3_strip_the_white_space_behind_them) {
  VocabularyFile file = small_spm();
  file.add("<|user|>", 3);
  file.add("<|endoftext|>", 3);
  const std::string text = "<|user|>\n \xe3\x80\x80 b<|endoftext|> b";
  const auto of_others = file.tokenizer();
  file.set_architecture("phi3");
  const auto tokenizer = file.tokenizer();
  const std::vector<int32_t> ids = tokenizer->encode(text, {});
  EXPECT_EQ(tokenizer->decode(ids, true), "<s><|user|>b<|endoftext|> b");
  const TextPart parts[] = {{"<|user|>\n", true}, {" \xe3\x80\x80 b", false}, {"<|endoftext|> b", true}};
  EXPECT_EQ(tokenizer->encode(parts), ids);
  EXPECT_EQ(tokenizer->encode("<|user|>\n", {}), tokenizer->encode("<|user|>", {}));
  EXPECT_EQ(tokenizer->encode("\nb", {}), of_others->encode("\nb", {}));
  EXPECT_EQ(of_others->decode(of_others->encode("<|user|>\nb", {}), true), "<s><|user|>\nb");
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
