// Models whose logits are not finite, and texts without a token to score. Every command reports the fault, and
// no figure.
#include <limits>

#include "tests/engine/app/commands/whole.h"
#include "tests/support/gguf_writer.h"

namespace tandem::testing {
namespace {

// Token "z" has an embedding row of `value`, so its logits are not finite. With `all` every token has such a row.
std::string damaged_model(const Folder& folder, bool all, float value = std::numeric_limits<float>::quiet_NaN()) {
  const TinyModel tiny;
  GgufWriter writer = tiny_writer(tiny);
  const MadeUpVocabulary vocabulary = made_up_vocabulary(tiny.vocabulary);
  ByteSink rows;
  for (int64_t id = 0; id < tiny.vocabulary; ++id) {
    const bool is_bad = all || vocabulary.tokens[static_cast<size_t>(id)] == "z";
    for (int64_t i = 0; i < tiny.hidden; ++i)
      rows.put(is_bad ? value : 0.01f * static_cast<float>((7 * id + 3 * i) % 101) - 0.5f);
  }
  writer.tensor("token_embd.weight", {tiny.hidden, tiny.vocabulary}, StorageType::f32, rows.bytes());
  write_file(folder.file("damaged.gguf"), writer.bytes());
  return folder.file("damaged.gguf");
}

constexpr const char* kWhat = "the logits are not finite at token ";

TEST(NotFiniteLogits, end_every_command_that_would_tell_of_them) {
  // The square of 1e30 overflows.
  const std::vector<std::pair<float, std::string>> values = {{std::numeric_limits<float>::quiet_NaN(), "token_embd"},
                                                             {std::numeric_limits<float>::infinity(), "token_embd"},
                                                             {1e30f, "layer 0, attn_norm"}};
  for (const auto& [value, where] : values) {
    const Folder folder;
    const std::string model = damaged_model(folder, true, value), out = folder.file("out");
    const std::vector<Arguments> commands = {
        {"run", "-p", "the he", "-n", "4"},
        {"run", "-p", "the he", "-n", "4", "--temp", "1", "--seed", "3"},
        {"run", "-p", "the he", "-n", "0", "--save-state", out},
        {"eval", "-p", "the he"},
        {"eval", "-p", "the he", "--perplexity"},
        {"eval", "-p", "the he", "--logits", out},
        {"bench", "-p", "4", "-n", "2", "-r", "1"},
        {"bench", "-p", "4", "-n", "2", "-r", "1", "-np", "2"},
    };
    for (const Arguments& command : commands) {
      const Ended ended = tandem(command + Arguments{"-m", model} + on_host());
      EXPECT_EQ(ended.status, 1) << ::testing::PrintToString(command);
      EXPECT_THAT(ended.out, IsEmpty()) << ::testing::PrintToString(command);
      EXPECT_THAT(ended.err, HasSubstr(kWhat)) << ::testing::PrintToString(command);
      EXPECT_THAT(ended.err, HasSubstr("such numbers begin in " + where + " on host"));
      EXPECT_THAT(ended.err, Not(HasSubstr("logits of")));  // "... equal those of host-only"
    }
    EXPECT_THAT(folder.names(), ElementsAre("damaged.gguf")) << "nothing was written";
    const Ended as_json = tandem(Arguments{"run", "-p", "the", "--json", "-m", model} + on_host());
    EXPECT_THAT(json::parse(as_json.out).at("error").at("what").get<std::string>(), HasSubstr(kWhat));
  }
}

TEST(NotFiniteLogits, end_the_one_text_of_many_that_has_them) {
  const Folder folder;
  const std::string model = damaged_model(folder, false), lines = "{\"prompt\": \"the\"}\n{\"prompt\": \"zzz\"}\n";
  for (const std::string& command : {std::string("run"), std::string("eval")}) {
    const Ended ended =
        tandem(Arguments{command, "-m", model, "--jsonl", "-", "-np", "2"} + on_host(), {.input = lines});
    EXPECT_EQ(ended.status, 1);
    std::istringstream answers(ended.out);
    std::string first, second;
    std::getline(answers, first) && std::getline(answers, second);
    EXPECT_FALSE(json::parse(first).contains("error")) << first;
    EXPECT_EQ(json::parse(first).at("line"), 1);
    EXPECT_THAT(json::parse(second).at("error").at("what").get<std::string>(), HasSubstr(kWhat));
    EXPECT_THAT(ended.err, HasSubstr("line 2 of -: "));
  }
}

TEST(NothingToScore, is_an_error_and_no_perplexity) {
  const Folder folder;
  const std::string empty = folder.write("empty", ""), text = folder.write("text", "the he"),
                    one = folder.write("one", "5");
  const Arguments eval = Arguments{"eval", "-m", stories()} + on_host();
  for (const Arguments& source : {Arguments{"-p", ""}, Arguments{"-f", empty}, Arguments{"--ids", one}}) {
    const Ended ended = tandem(eval + source + Arguments{"--perplexity"});
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_THAT(ended.err, HasSubstr("there is nothing to score"));
    const Ended as_json = tandem(eval + source + Arguments{"--perplexity", "--json"});
    EXPECT_EQ(as_json.status, 1);
    EXPECT_EQ(json::parse(as_json.out).at("error").at("what"), "there is nothing to score");
  }
  const Ended no_lines = tandem(eval + Arguments{"--jsonl", empty, "--perplexity"});
  EXPECT_EQ(no_lines.status, 1);
  EXPECT_THAT(no_lines.err, HasSubstr("there is nothing to score: " + empty));
  EXPECT_EQ(tandem(eval + Arguments{"--ids", one}).status, 0) << "logits of one token are logits";
  const Ended many = tandem(eval + Arguments{"-f", empty, "-f", text});
  EXPECT_EQ(many.status, 1);
  std::istringstream answers(many.out);
  std::string first, second;
  std::getline(answers, first) && std::getline(answers, second);
  EXPECT_EQ(json::parse(first).at("error").at("what"), "there is nothing to score");
  EXPECT_FALSE(json::parse(first).contains("perplexity"));
  EXPECT_GT(json::parse(second).at("nll_tokens").get<int>(), 0);
}

}  // namespace
}  // namespace tandem::testing
