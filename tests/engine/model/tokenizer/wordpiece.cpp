// WordPiece: ids that PyPI's `tokenizers` gives (record_wordpiece.py), in both forms that files have.
#include "engine/model/tokenizer/wordpiece.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/engine/model/tokenizer/vocabulary_file.h"
#include "tests/support/data.h"
#include "tests/support/message_of.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr EncodeOptions kTextAlone{.add_bos_eos = false, .parse_special = false};

nlohmann::json golden_words() { return nlohmann::json::parse(std::ifstream(repository_data("wordpiece/golden.json"))); }

bool is_reserved(const std::string& token) { return token.front() == '[' && token.size() > 2; }

// marks_words: tokens that begin a word have U+2581, and those within it lose their "##".
VocabularyFile words(bool marks_words, bool has_upper = false) {
  VocabularyFile file;
  file["model"] = std::string("bert");
  file["tokens"] = std::vector<std::string>();
  file["token_type"] = std::vector<int32_t>();
  const nlohmann::json golden = golden_words();
  for (const std::string token : golden.at("tokens")) {
    const bool is_plain = !marks_words || is_reserved(token);
    file.add(is_plain                  ? token
             : token.starts_with("##") ? token.substr(2)
                                       : "\xE2\x96\x81" + token,
             is_reserved(token) ? 3 : 1);
  }
  if (has_upper) file.add(marks_words ? "\xE2\x96\x81QQQQ" : "QQQQ");
  return file;
}

TEST(WordPiece, gives_the_recorded_ids_in_both_forms_of_files) {
  const nlohmann::json golden = golden_words();
  for (const bool marks_words : {false, true})
    for (const bool cased : {false, true}) {
      const auto tokenizer = words(marks_words, cased).tokenizer();
      for (const auto& each : golden.at(cased ? "cased" : "lowered")) {
        const std::string text = each.at("text");
        EXPECT_EQ(tokenizer->encode(text, kTextAlone), each.at("ids").get<std::vector<int32_t>>())
            << text << (marks_words ? ", words marked" : "") << (cased ? ", cased" : "");
      }
    }
}

TEST(WordPiece, puts_a_text_between_its_first_and_its_last_token) {
  const auto tokenizer = words(true).tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "hello"), ElementsAre("[CLS]", " hello", "[SEP]"));
  EXPECT_THAT(pieces(*tokenizer, ""), ElementsAre("[CLS]", "[SEP]"));
  EXPECT_EQ(tokenizer->piece(tokenizer->bos(), true), "[CLS]");
  EXPECT_EQ(tokenizer->piece(tokenizer->eos(), true), "[SEP]");
}

TEST(WordPiece, finds_the_tokens_that_the_file_names) {
  VocabularyFile file = words(true);
  file["cls_token_id"] = uint32_t{6};
  file["seperator_token_id"] = uint32_t{7};
  file["unknown_token_id"] = uint32_t{8};
  const auto tokenizer = file.tokenizer();
  EXPECT_EQ(tokenizer->bos(), 6);
  EXPECT_EQ(tokenizer->eos(), 7);
  EXPECT_THAT(tokenizer->encode("\xE2\x98\x83", kTextAlone), ElementsAre(8));  // a snowman is in no word
  file["cls_token_id"] = uint32_t{5000};
  EXPECT_THAT(test::message_of([&] { file.tokenizer(); }), HasSubstr("out of range"));
}

TEST(WordPiece, takes_special_tokens_of_a_text_only_when_asked) {
  const auto tokenizer = words(false).tokenizer();
  EXPECT_THAT(pieces(*tokenizer, "a[SEP]a", {.add_bos_eos = false, .parse_special = true}),
              ElementsAre(" a", "[SEP]", " a"));
  EXPECT_EQ(pieces(*tokenizer, "a[SEP]a", kTextAlone).size(), 7u);  // a [ s ##e ##p ] a
}

TEST(WordPiece, removes_bytes_that_are_no_characters) {
  const auto tokenizer = words(true).tokenizer();
  EXPECT_EQ(tokenizer->encode("hel\xFFlo\xC3", kTextAlone), tokenizer->encode("hello", kTextAlone));
  EXPECT_THAT(tokenizer->encode("\xFF", kTextAlone), IsEmpty());
}

TEST(WordPiece, gives_words_with_single_blanks_back) {
  const auto tokenizer = words(true).tokenizer();
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  Hello\n unaffable world", {}), false), "hello unaffable world");
}

}  // namespace
}  // namespace tandem::testing
