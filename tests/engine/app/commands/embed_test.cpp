// `tandem embed` as a whole program.
#include <cmath>
#include <cstring>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class EmbedProgram : public ::testing::Test {
 protected:
  static std::string encoder() {
    static const Folder folder;
    static const std::string path = [] {
      const std::string made = folder.file("encoder.gguf");
      const std::string shape = folder.write(
          "shape.json",
          R"({"schema": 1, "architecture": "bert", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
             "vocabulary": 320, "context_length": 64, "pooling": "mean"})");
      EXPECT_EQ(tandem({"make-random", "--shape", shape, "--type", "F32", "-o", made}).status, 0);
      return made;
    }();
    return path;
  }
  static Ended embed(const Arguments& more, const ChildSettings& settings = {}) {
    return tandem(Arguments{"embed", "-m", encoder(), "--device", "host"} + more, settings);
  }
  static std::vector<float> vector_of(const std::string& text) {
    std::vector<float> vector;
    std::istringstream words(text);
    for (float value; words >> value;) vector.push_back(value);
    return vector;
  }
  static double length(const std::vector<float>& vector) {
    double square = 0;
    for (const float value : vector) square += static_cast<double>(value) * value;
    return std::sqrt(square);
  }
};

TEST_F(EmbedProgram, prints_the_numbers_of_one_text) {
  const Ended ended = embed({"-p", "hello world", "-q"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, IsEmpty());
  const std::vector<float> vector = vector_of(ended.out);
  EXPECT_EQ(vector.size(), 64u);
  EXPECT_NEAR(length(vector), 1, 1e-5);
  const Folder folder;
  EXPECT_EQ(embed({"-f", folder.write("text", "hello world")}).out, ended.out);
  EXPECT_EQ(embed({"-f", "-"}, {.input = "hello world"}).out, ended.out);
}

TEST_F(EmbedProgram, prints_one_object_with_the_same_numbers) {
  const json out = json::parse(embed({"-p", "hello world", "--json"}).out);
  EXPECT_EQ(out.at("data").at(0).at("embedding").get<std::vector<float>>(),
            vector_of(embed({"-p", "hello world"}).out));
  EXPECT_EQ(out.at("usage").at("prompt_tokens"), 12);  // ten letters of two words, [CLS] and [SEP]
  EXPECT_EQ(out.at("pooling"), "mean");
  EXPECT_EQ(out.at("width"), 64);
}

TEST_F(EmbedProgram, reads_a_text_from_each_line) {
  const std::string lines = "hello\n\n\"hello\"\n{\"text\": \"other words\"}\n{\"colour\": 1}\nlast";
  const Ended ended = embed({"-f", "-", "--jsonl", "-np", "2"}, {.input = lines});
  EXPECT_EQ(ended.status, 1);  // one line is no text
  EXPECT_THAT(ended.err, HasSubstr("line 5"));
  std::vector<json> answers;
  std::istringstream out(ended.out);
  for (std::string line; std::getline(out, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_EQ(answers[0].at("embedding"), answers[1].at("embedding"));
  EXPECT_EQ(answers[0].at("line"), 1);
  EXPECT_EQ(answers[1].at("line"), 3);
  EXPECT_NE(answers[0].at("embedding"), answers[2].at("embedding"));
  EXPECT_TRUE(answers[3].contains("error"));
  const json all = json::parse(embed({"-f", "-", "--jsonl", "--json"}, {.input = lines}).out);
  EXPECT_EQ(all.at("data").size(), 5u);
  EXPECT_EQ(all.at("data").at(4).at("embedding"), answers[4].at("embedding"));
}

TEST_F(EmbedProgram, gives_the_bytes_of_the_numbers_in_base64) {
  const std::string text = embed({"-p", "hello", "--encoding", "base64"}).out;
  EXPECT_EQ(text.size(), 344u + 1);  // 256 bytes: 4 * 86 characters, and the newline
  EXPECT_EQ(json::parse(embed({"-p", "hello", "--encoding", "base64", "--json"}).out)
                    .at("data")
                    .at(0)
                    .at("embedding")
                    .get<std::string>() +
                "\n",
            text);
}

TEST_F(EmbedProgram, pools_and_norms_as_it_is_told) {
  const std::string mean = embed({"-p", "hello"}).out;
  EXPECT_EQ(embed({"-p", "hello", "--pooling", "mean"}).out, mean);
  EXPECT_NE(embed({"-p", "hello", "--pooling", "cls"}).out, mean);
  EXPECT_NE(embed({"-p", "hello", "--pooling", "last", "--encoding", "float"}).out, mean);
  const std::vector<float> plain = vector_of(embed({"-p", "hello", "--no-norm"}).out), normed = vector_of(mean);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], normed[i] * length(plain), 1e-5);
  EXPECT_EQ(embed({"-p", "hello", "--pooling", "median"}).status, 2);
}

TEST_F(EmbedProgram, reads_special_tokens_as_text_when_told_to) {
  EXPECT_NE(embed({"-p", "a[SEP]b"}).out, embed({"-p", "a[SEP]b", "--no-special"}).out);
}

TEST_F(EmbedProgram, refuses_what_an_encoder_cannot_do) {
  const std::string longer(65, 'a');
  const Ended ended = embed({"-p", longer, "--json"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(json::parse(ended.out).at("error").at("message"), HasSubstr("longer than the context"));
  EXPECT_THAT(embed({"-p", "a", "--ctx-size", "65"}).err, HasSubstr("64"));
  EXPECT_EQ(embed({"-p", "a", "-f", "b"}).status, 2);
  EXPECT_EQ(embed({"-p", "a", "--parallel", "0"}).status, 2);
  EXPECT_EQ(embed({"-f", "-", "--jsonl"}, {.input = "\n \n"}).status, 1);
  EXPECT_EQ(embed({"-p", "a", "--soc", "snapdragon-8gen3"}).status, 2);
  for (const char* command : {"run", "eval", "chat"}) {
    Arguments arguments{command, "-m", encoder(), "--device", "host"};
    if (command != std::string("chat")) arguments = arguments + Arguments{"-p", "a"};
    const Ended refused = tandem(arguments, {.input = ""});
    EXPECT_EQ(refused.status, 1) << command;
    EXPECT_THAT(refused.err, HasSubstr("`tandem embed`")) << command;
  }
}

TEST_F(EmbedProgram, takes_a_model_that_writes_texts_too) {
  const Ended last = tandem({"embed", "-m", stories(), "-p", "Once upon a time"}),
              mean = tandem({"embed", "-m", stories(), "-p", "Once upon a time", "--pooling", "mean"});
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_NEAR(length(vector_of(last.out)), 1, 1e-5);
  EXPECT_NE(last.out, mean.out);
  EXPECT_EQ(tandem({"embed", "-m", stories(), "-p", "Once upon a time", "--pooling", "last"}).out, last.out);
}

}  // namespace
}  // namespace tandem::testing
