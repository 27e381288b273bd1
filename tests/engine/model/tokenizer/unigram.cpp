// SentencePiece Unigram: ids that PyPI's `sentencepiece` gives (record_unigram.py), and rules by
// hand-made vocabularies.
#include "engine/model/tokenizer/unigram.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/engine/model/tokenizer/vocabulary_file.h"
#include "tests/support/data.h"
#include "tests/support/message_of.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr EncodeOptions kPieces{.add_bos_eos = false, .parse_special = false};

nlohmann::json golden_pieces() { return nlohmann::json::parse(std::ifstream(repository_data("unigram/golden.json"))); }

VocabularyFile golden_file(const nlohmann::json& golden) {
  VocabularyFile file;
  file["model"] = std::string("t5");
  file["tokens"] = golden.at("tokens").get<std::vector<std::string>>();
  file["token_type"] = golden.at("kinds").get<std::vector<int32_t>>();
  file["scores"] = golden.at("scores").get<std::vector<float>>();
  file["precompiled_charsmap"] = golden.at("charsmap").get<std::vector<int32_t>>();
  file["unknown_token_id"] = uint32_t{0};
  file["bos_token_id"] = uint32_t{1};
  file["eos_token_id"] = uint32_t{2};
  return file;
}

// <pad> </s> <unk> as in T5, and tokens with scores.
VocabularyFile small_unigram(const std::vector<std::pair<std::string, float>>& tokens) {
  VocabularyFile file;
  file["model"] = std::string("t5");
  file["tokens"] = std::vector<std::string>();
  file["token_type"] = std::vector<int32_t>();
  file["scores"] = std::vector<float>();
  file["add_space_prefix"] = false;
  file.add("<pad>", 3);
  file.add("</s>", 3);
  file.add("<unk>", 2);
  for (const auto& [text, score] : tokens) file.add(text, 1, score);
  return file;
}

TEST(Unigram, gives_the_recorded_ids_however_blanks_are_treated) {
  const nlohmann::json golden = golden_pieces();
  VocabularyFile file = golden_file(golden);
  for (const bool single : {true, false})
    for (const bool prefix : {true, false}) {
      file["remove_extra_whitespaces"] = single;
      file["add_space_prefix"] = prefix;
      const auto tokenizer = file.tokenizer();
      const auto& rows =
          golden.at(std::string(single ? "single" : "all") + "_blanks_" + (prefix ? "with" : "without") + "_prefix");
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::string text = golden.at("texts").at(i);
        EXPECT_EQ(tokenizer->encode(text, kPieces), rows.at(i).get<std::vector<int32_t>>())
            << text << (single ? ", single blanks" : "") << (prefix ? ", with a prefix" : "");
      }
    }
}

// -1.5 - 1.5 is more than -4, and -4 more than -1.5 - 3.
TEST(Unigram, takes_the_way_with_the_highest_sum_of_scores) {
  const auto tokenizer = small_unigram({{"ab", -1.5}, {"cd", -1.5}, {"abc", -3}, {"d", -1}, {"abcd", -4}}).tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "abcd", kPieces), ElementsAre("ab", "cd"));
  EXPECT_THAT(pieces(*tokenizer, "abcdabc", kPieces), ElementsAre("ab", "cd", "abc"));
}

TEST(Unigram, takes_the_longer_last_token_of_equal_sums) {
  const auto tokenizer = small_unigram({{"a", -1}, {"aa", -2}, {"aaa", -3}}).tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "aaa", kPieces), ElementsAre("aaa"));
  EXPECT_THAT(pieces(*tokenizer, "aaaa", kPieces), ElementsAre("a", "aaa"));
}

// An unknown character costs ten more than the worst token, here -11.
TEST(Unigram, makes_one_unknown_token_of_a_run_of_unknown_characters) {
  const auto tokenizer = small_unigram({{"a", -1}, {"b", -0.5}}).tokenizer();
  EXPECT_THAT(tokenizer->encode("axyzb\xE2\x98\x83", kPieces), ElementsAre(3, 2, 4, 2));
  EXPECT_THAT(tokenizer->encode("a\xFF\xFE", kPieces), ElementsAre(3, 2)) << "bytes outside any character";
}

TEST(Unigram, writes_unknown_characters_as_bytes_if_all_have_tokens) {
  VocabularyFile file = small_unigram({{"a", -1}});
  file.add("<0xE2>", 6);
  file.add("<0x98>", 6);
  file.add("<0x83>", 6);
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(tokenizer->encode("a\xE2\x98\x83", kPieces), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xE2\x98\x83", kPieces), false), "a\xE2\x98\x83");
  EXPECT_THAT(tokenizer->encode("x", kPieces), ElementsAre(2));
}

TEST(Unigram, never_finds_tokens_of_other_kinds_in_a_text) {
  VocabularyFile file = small_unigram({{"a", -1}, {"<", -1}, {"s", -1}, {">", -1}, {"/", -1}});
  file.add("as", 5, 0);  // unused
  const auto tokenizer = file.tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "as</s>", kPieces), ElementsAre("a", "s", "<", "/", "s", ">"));
}

TEST(Unigram, ends_texts_as_t5_does_unless_the_file_says_otherwise) {
  VocabularyFile file = small_unigram({{"a", -1}});
  EXPECT_THAT(pieces(*file.tokenizer(), "a"), ElementsAre("a", "</s>"));
  file["bos_token_id"] = uint32_t{0};
  file["add_bos_token"] = true;
  EXPECT_THAT(pieces(*file.tokenizer(), "a"), ElementsAre("<pad>", "a", "</s>"));
}

TEST(Unigram, needs_scores_and_a_whole_table) {
  VocabularyFile file = small_unigram({{"a", -1}});
  for (const std::vector<int32_t>& bytes :
       {std::vector<int32_t>{4, 0, 0}, {8, 0, 0, 0, 1, 2, 3, 4}, {3, 0, 0, 0, 1, 2, 3}, {0, 0, 0, 0}}) {
    file["precompiled_charsmap"] = bytes;
    EXPECT_THAT(test::message_of([&] { file.tokenizer(); }), HasSubstr("table of characters is damaged"));
  }
  file["precompiled_charsmap"] = std::vector<int32_t>{4, 0, 0, 0, 256, 0, 0, 0};
  EXPECT_THAT(test::message_of([&] { file.tokenizer(); }), HasSubstr("has no bytes"));
  file.erase("precompiled_charsmap");
  file.erase("scores");
  EXPECT_THAT(test::message_of([&] { file.tokenizer(); }), HasSubstr("needs scores"));
}

// Published files have signed bytes, others unsigned ones.
TEST(Unigram, reads_tables_of_signed_bytes) {
  const nlohmann::json golden = golden_pieces();
  VocabularyFile file = golden_file(golden);
  auto bytes = golden.at("charsmap").get<std::vector<int32_t>>();
  for (int32_t& byte : bytes) byte = static_cast<int8_t>(byte);
  file["precompiled_charsmap"] = bytes;
  const auto tokenizer = file.tokenizer();
  EXPECT_EQ(tokenizer->encode("\xEF\xAC\x81ne", kPieces), tokenizer->encode("fine", kPieces));
}

// Any bytes may stand in a table.
TEST(Charsmap, of_any_bytes_replaces_a_part_of_the_text_or_nothing) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string packed(4 + 4 * 64 + 20, '\0');
    for (char& byte : packed) byte = static_cast<char>(random() >> 24 & (random() % 2 ? 0xff : 0x03));
    packed.replace(0, 4, std::string{0, 1, 0, 0});
    const Charsmap map(packed, "test");
    for (int i = 0; i < 20; ++i) {
      std::string text(1 + random() % 6, '\0');
      for (char& byte : text) byte = static_cast<char>(random() % 256);
      const Charsmap::Replaced part = map.at(text);
      ASSERT_LE(part.length, text.size());
      ASSERT_LE(part.text.size(), 20u);
    }
  }
}

}  // namespace
}  // namespace tandem::testing
