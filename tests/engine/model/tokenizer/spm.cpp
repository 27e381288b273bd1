#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"
#include "tests/engine/model/tokenizer/vocabulary_file.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;

constexpr EncodeOptions kNoBos = {.add_bos_eos = false, .parse_special = true};

TEST(Spm, merges_the_pair_with_the_highest_score_first) {
  VocabularyFile file = small_spm();
  const auto tokenizer = file.tokenizer();
  // The scores are ll (-1), he (-2), ▁w (-3), or (-5), ▁he, ▁wor, llo, ld. ▁hello needs ▁he + llo, and the vocabulary
  // has their union.
  EXPECT_THAT(pieces(*tokenizer, "hello world", kNoBos), ElementsAre(" hello", " wor", "ld"));
}

TEST(Spm, equal_scores_merge_from_the_left) {
  VocabularyFile file = small_spm();
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "lll", kNoBos), ElementsAre(" ", "ll", "l"));
}

TEST(Spm, adds_bos_and_a_blank_by_default_and_what_the_file_says_otherwise) {
  VocabularyFile file = small_spm();
  EXPECT_THAT(pieces(*file.tokenizer(), "he"), ElementsAre("<s>", " he"));
  EXPECT_EQ(file.tokenizer()->bos(), 1);
  EXPECT_EQ(file.tokenizer()->eos(), 2);
  EXPECT_TRUE(file.tokenizer()->is_end(2));
  file["add_bos_token"] = false;
  file["add_eos_token"] = true;
  file["add_space_prefix"] = false;
  EXPECT_THAT(pieces(*file.tokenizer(), "he"), ElementsAre("he", "</s>"));
  EXPECT_THAT(pieces(*file.tokenizer(), ""), ElementsAre("</s>"));
}

TEST(Spm, adds_the_blank_again_after_a_special_token_and_decode_takes_it_away) {
  VocabularyFile file = small_spm();
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "he</s>he"), ElementsAre("<s>", " he", "</s>", " he"));
  for (const char* text : {"he</s>he", " he", "  ", "he</s> he </s>"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, kNoBos), true), text);
  }
}

TEST(Spm, characters_it_lacks_become_bytes_and_any_bytes_come_back) {
  VocabularyFile file = small_spm();
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(tokenizer->encode("é", kNoBos), ElementsAre(id_of(file, "▁"), 3 + 0xC3, 3 + 0xA9));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text :
       {all, std::string("h\xFF\xFE"), std::string("\xF0\x9F\xA6"), std::string("🦙\xC3")}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {}), false), text);
  }
}

TEST(Spm, a_run_of_unknown_characters_is_one_unknown_token_without_byte_tokens) {
  VocabularyFile file = small_spm();
  for (int byte = 0; byte < 256; ++byte) file.kinds()[3 + byte] = 5;
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "heéé🦙ldé", kNoBos), ElementsAre(" he", "<unk>", "ld", "<unk>"));
}

TEST(Spm, a_character_of_which_a_byte_has_no_token_is_unknown_as_a_whole) {
  for (const int byte : {0xC3, 0xA9}) {
    VocabularyFile file = small_spm();
    file.kinds()[static_cast<size_t>(3 + byte)] = 5;
    EXPECT_THAT(pieces(*file.tokenizer(), "heéhe", kNoBos), ElementsAre(" he", "<unk>", "he"));
  }
}

TEST(Spm, a_token_across_words_is_found) {
  VocabularyFile file = small_spm();
  file.add("o▁", 1, -20);
  file.add("o▁w", 1, -21);
  file.add("▁hello▁w", 1, 0);
  file.add("e▁", 1, 5);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "he we", kNoBos), ElementsAre(" h", "e ", "w", "e"));
  EXPECT_THAT(pieces(*tokenizer, "hello wo", kNoBos), ElementsAre(" hello w", "o"));
}

// SentencePiece 0.2.2 gives these ids for such a vocabulary.
TEST(Spm, an_unused_token_is_merged_further_but_is_never_a_token_of_the_text) {
  VocabularyFile file = small_spm();
  file.kinds()[static_cast<size_t>(id_of(file, "ll"))] = 5;
  EXPECT_THAT(pieces(*file.tokenizer(), "hello ll", kNoBos), ElementsAre(" hello", " ", "l", "l"));
  // Parts of an unused token may be unused as well.
  file.kinds()[static_cast<size_t>(id_of(file, "llo"))] = 5;
  EXPECT_THAT(pieces(*file.tokenizer(), "llo", kNoBos), ElementsAre(" ", "l", "l", "o"));
}

TEST(Spm, user_defined_tokens_may_have_visible_blanks) {
  VocabularyFile file = small_spm();
  file.add("▁▁", 4);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "he  ld", kNoBos), ElementsAre(" he", "  ", " ", "ld"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("he  ld", kNoBos), false), "he  ld");
}

TEST(Spm, special_and_byte_texts_written_by_a_user_stay_text) {
  VocabularyFile file = small_spm();
  file.add("<", 1, -30);
  file.add("s", 1, -31);
  file.add(">", 1, -32);
  file.add("<s", 1, -33);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "<s>", {false, false}), ElementsAre(" ", "<s", ">"));
  EXPECT_THAT(pieces(*tokenizer, "<s>", {false, true}), ElementsAre("<s>"));
}

TEST(Spm, removes_extra_blanks_where_the_file_says_so) {
  VocabularyFile file = small_spm();
  file["remove_extra_whitespaces"] = true;
  const auto tokenizer = file.tokenizer();
  EXPECT_EQ(tokenizer->encode("  hello   world ", kNoBos), tokenizer->encode("hello world", kNoBos));
  EXPECT_THAT(tokenizer->encode("   ", kNoBos), ElementsAre());
}

TEST(Spm, an_id_out_of_range_is_an_error) {
  const auto tokenizer = small_spm().tokenizer();
  for (const int32_t id : {-1, static_cast<int32_t>(tokenizer->size())}) {
    EXPECT_THROW(tokenizer->piece(id, true), Error);
    EXPECT_THROW(tokenizer->decode(std::vector<int32_t>{id}, true), Error);
    EXPECT_FALSE(tokenizer->is_end(id));
  }
}

}  // namespace
}  // namespace tandem::testing
