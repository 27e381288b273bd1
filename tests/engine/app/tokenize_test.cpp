// `tandem tokenize` and `tandem info` on vocabulary files.
#include "engine/app/commands/text/tokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sync/error.h"
#include "tests/engine/app/program.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::repository_data;
using ::tandem::testing::tandem_program;
using ::tandem::testing::test_data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string error_of(const std::string& ids) {
  try {
    app::parse_ids(ids, 100);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TokenizeCommand, ids_are_numbers_of_the_vocabulary_separated_by_white_space) {
  EXPECT_THAT(app::parse_ids(" 1 2\n\t99 ", 100), ElementsAre(1, 2, 99));
  EXPECT_THAT(app::parse_ids("", 100), IsEmpty());
  EXPECT_THAT(error_of("1 x2"), HasSubstr("word 2 is 'x2'"));
  EXPECT_THAT(error_of("1 100"), HasSubstr("from 0 to 99"));
  EXPECT_THAT(error_of("-1"), HasSubstr("from 0 to 99"));
  EXPECT_THAT(error_of("99999999999999999999"), HasSubstr("whole numbers"));
}

class Vocabulary : public ::testing::Test {
 protected:
  void SetUp() override {
    std::optional<std::string> path = test_data("tokenizers/ggml-vocab-llama-bpe.gguf");
    if (!path) SKIP_FOR_WANT_OF(data, "no vocabularies");
    vocabulary_ = *path;
  }
  std::string vocabulary_;
  const testing::ScratchFolder folder_;
  const std::string file_ = folder_.file("text");
};

TEST_F(Vocabulary, a_text_becomes_ids_on_one_line_and_comes_back) {
  Outcome ids = tandem_program({"tokenize", "-m", vocabulary_, "-p", "Hello world"});
  ASSERT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(ids.out, "9906 1917\n");
  Outcome text = tandem_program({"tokenize", "-m", vocabulary_, "--decode", "-p", ids.out});
  EXPECT_EQ(text.out, "Hello world");
  nlohmann::json object =
      nlohmann::json::parse(tandem_program({"tokenize", "-m", vocabulary_, "-p", "Hello world", "--json"}).out);
  EXPECT_EQ(object["ids"], nlohmann::json({9906, 1917}));
}

TEST_F(Vocabulary, a_file_is_taken_byte_for_byte) {
  const std::string text = "two\nlines and a last newline\n";
  std::ofstream(file_, std::ios::binary) << text;
  Outcome from_file = tandem_program({"tokenize", "-m", vocabulary_, "-f", file_});
  EXPECT_EQ(from_file.out, tandem_program({"tokenize", "-m", vocabulary_, "-p", text}).out);
  EXPECT_NE(from_file.out, tandem_program({"tokenize", "-m", vocabulary_, "-p", text.substr(0, text.size() - 1)}).out);
  std::string ids = from_file.out;
  EXPECT_EQ(tandem_program({"tokenize", "-m", vocabulary_, "--decode", "-p", ids}).out, text);
}

TEST_F(Vocabulary, special_tokens_and_the_begin_token_follow_their_flags) {
  EXPECT_EQ(tandem_program({"tokenize", "-m", vocabulary_, "-p", "<|eot_id|>"}).out, "128009\n");
  EXPECT_NE(tandem_program({"tokenize", "-m", vocabulary_, "-p", "<|eot_id|>", "--no-special"}).out, "128009\n");
  EXPECT_THAT(tandem_program({"tokenize", "-m", vocabulary_, "-p", "Hello", "--bos"}).out, HasSubstr("128000 9906"));
}

TEST_F(Vocabulary, info_tells_that_there_are_no_weights) {
  Outcome outcome = tandem_program({"info", "-m", vocabulary_, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["architecture"], "llama");
  EXPECT_EQ(report["tensors"], 0);
  EXPECT_TRUE(report.contains("note"));
}

TEST(InfoCommand, tells_shapes_storage_types_and_which_device_multiplies_with_them) {
  const std::string model = repository_data("mixed-models/first.gguf");
  Outcome outcome = tandem_program({"info", "-m", model, "--json", "--device", "host"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  nlohmann::json report = nlohmann::json::parse(outcome.out);
  EXPECT_GT(report["shapes"]["layers"], 0);
  EXPECT_GT(report["parameters"], 0);
  ASSERT_FALSE(report["placement"].empty());
  for (const auto& row : report["placement"]) EXPECT_TRUE(row["supported"].get<bool>()) << row.dump();
  Outcome text = tandem_program({"info", "-m", model, "--device", "host"});
  EXPECT_THAT(text.out, HasSubstr("Q4_K"));
}

}  // namespace
}  // namespace tandem
