#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/model/tokenizer/vocabulary_file.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

TEST(Bpe, merges_by_rank_inside_the_pieces_of_the_pre_tokenizer) {
  const auto tokenizer = small_bpe().tokenizer();
  EXPECT_THAT(pieces(*tokenizer, " hello hello"), ElementsAre(" hello", " hello"));
  EXPECT_THAT(pieces(*tokenizer, "hello"), ElementsAre("he", "llo"));
  EXPECT_THAT(pieces(*tokenizer, "lll"), ElementsAre("ll", "l"));
  EXPECT_THAT(pieces(*tokenizer, "h ello"), ElementsAre("h", " ", "e", "llo"));
}

TEST(Bpe, the_lower_rank_goes_first_even_when_it_stands_further_right) {
  VocabularyFile file = small_bpe();
  file["merges"] = std::vector<std::string>{"b c", "a b"};
  file.add("bc");
  file.add("ab");
  EXPECT_THAT(pieces(*file.tokenizer(), "abc"), ElementsAre("a", "bc"));
}

TEST(Bpe, any_bytes_come_back) {
  std::string all = "\xE1\xA0\x8E";
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const char* pre :
       {"default", "gpt-2", "llama-bpe", "smollm", "qwen2", "deepseek-llm", "deepseek-coder", "falcon", "gpt-4o",
        "tekken", "seed-coder", "deepseek-v3", "viking", "kimi-k2", "youtu", "tiny_aya", "superbpe"}) {
    const auto tokenizer = small_bpe(pre).tokenizer();
    for (const std::string& text :
         {all, std::string("h\xFF\xFE he"), std::string("\xF0\x9F\xA6"), std::string("🦙\xC3")}) {
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {}), false), text) << pre;
    }
  }
}

TEST(Bpe, adds_bos_and_eos_only_as_the_file_or_the_convention_says) {
  VocabularyFile file = small_bpe();
  file["bos_token_id"] = uint32_t{261};
  file["eos_token_id"] = uint32_t{260};
  EXPECT_THAT(file.tokenizer()->encode("he", {}), ElementsAre(257));
  file["add_bos_token"] = true;
  file["add_eos_token"] = true;
  EXPECT_THAT(file.tokenizer()->encode("he", {}), ElementsAre(261, 257, 260));
  EXPECT_THAT(file.tokenizer()->encode("he", {.add_bos_eos = false}), ElementsAre(257));

  VocabularyFile llama = small_bpe("llama-bpe");
  EXPECT_THAT(llama.tokenizer()->encode("he", {}), ElementsAre(257));  // the file has no BOS
  llama["bos_token_id"] = uint32_t{261};
  EXPECT_THAT(llama.tokenizer()->encode("he", {}), ElementsAre(261, 257));
  llama["add_bos_token"] = false;
  EXPECT_THAT(llama.tokenizer()->encode("he", {}), ElementsAre(257));
}

TEST(Bpe, llama_bpe_takes_a_piece_that_is_a_token_whatever_the_merges_say) {
  VocabularyFile gpt2 = small_bpe(), llama = small_bpe("llama-bpe");
  gpt2.add("Ġxyz");
  llama.add("Ġxyz");
  EXPECT_THAT(pieces(*gpt2.tokenizer(), " xyz"), ElementsAre(" ", "x", "y", "z"));
  EXPECT_THAT(pieces(*llama.tokenizer(), " xyz"), ElementsAre(" xyz"));
}

TEST(Bpe, a_merge_result_that_is_no_token_falls_apart_into_bytes) {
  VocabularyFile file = small_bpe();
  file["merges"] = std::vector<std::string>{"x y", "xy z"};
  file.add("xyz");
  EXPECT_THAT(pieces(*file.tokenizer(), "xyz"), ElementsAre("xyz"));
  EXPECT_THAT(pieces(*file.tokenizer(), "xy"), ElementsAre("x", "y"));
}

TEST(Bpe, a_byte_without_a_token_becomes_the_replacement_character) {
  VocabularyFile file = small_bpe();
  file.kinds()[0xFF] = 4;  // the added token "ÿ", as in vocabularies of DeepSeek
  const auto tokenizer = file.tokenizer();
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xFFz", {}), false), "a\xEF\xBF\xBDz");
  EXPECT_THAT(tokenizer->encode("ÿ", {}), ElementsAre(0xFF));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{0xFF}, false), "ÿ");
}

TEST(Bpe, a_file_without_a_pre_tokenizer_uses_the_default_one) {
  VocabularyFile file = small_bpe();
  file.erase("pre");
  file["merges"] = std::vector<std::string>{"1 2", "12 3", "123 4"};
  for (const char* text : {"12", "123", "1234"}) file.add(text);
  EXPECT_THAT(pieces(*file.tokenizer(), "1234"), ElementsAre("123", "4"));
}

}  // namespace
}  // namespace tandem::testing
