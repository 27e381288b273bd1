// `tandem tokenize` and `tandem info` as whole programs.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Tokenize : public ::testing::Test {
 protected:
  Ended tokenize(const Arguments& more, const ChildSettings& settings = {}) const {
    Ended ended = tandem(Arguments{"tokenize", "-m", stories()} + more, settings);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.err, IsEmpty());
    return ended;
  }
};

TEST_F(Tokenize, gives_the_golden_ids_with_the_begin_token_only_when_asked) {
  for (const char* name : {"story", "lily", "dialog"}) {
    const json entry = golden(name);
    std::vector<int> ids = entry.at("prompt_ids");
    const std::string text = entry.at("prompt");
    EXPECT_EQ(tokenize({"-p", text, "--bos"}).out, words(ids) + "\n");
    EXPECT_EQ(json::parse(tokenize({"--prompt", text, "--bos", "--json"}).out).at("ids"), ids);
    ids.erase(ids.begin());
    EXPECT_EQ(tokenize({"-p", text}).out, words(ids) + "\n");
    EXPECT_EQ(tokenize({"-f", "-", "-q"}, {.input = text}).out, words(ids) + "\n");
  }
}

TEST_F(Tokenize, comes_back_to_the_text_byte_for_byte) {
  const Folder folder;
  const std::string text = "Lily saw two\nlines,\ta tab \xc3\xa9 and a last newline\n";
  const std::string ids = tokenize({"-f", folder.write("text", text)}).out;
  EXPECT_EQ(tokenize({"--decode", "-p", ids}).out, text);
  EXPECT_EQ(tokenize({"--decode", "--file", folder.write("ids", ids), "-v"}).out, text);
  EXPECT_EQ(json::parse(tokenize({"--decode", "-p", ids, "--json"}).out).at("text"), text);
}

TEST_F(Tokenize, takes_special_tokens_as_plain_text_when_told_to) {
  EXPECT_EQ(tokenize({"-p", "</s>"}).out, "2\n");
  const std::string plain = tokenize({"-p", "</s>", "--no-special"}).out;
  EXPECT_NE(plain, "2\n");
  EXPECT_EQ(tokenize({"--decode", "-p", plain}).out, "</s>");
}

TEST_F(Tokenize, names_the_word_that_is_no_id) {
  const Ended ended = tandem({"tokenize", "--model", stories(), "--decode", "-p", "5 six", "--json"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(json::parse(ended.out).at("error").at("message"), HasSubstr("word 2 is 'six'"));
  EXPECT_THAT(ended.err, HasSubstr("word 2 is 'six'"));
}

}  // namespace
}  // namespace tandem::testing
