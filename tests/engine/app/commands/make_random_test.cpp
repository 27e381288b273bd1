// `tandem make-random` as a whole program: it writes files that other commands run.
#include <filesystem>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class MakeRandom : public ::testing::Test {
 protected:
  // The shape of a model of a few kilobytes.
  std::string shape() const {
    return folder_.write("shape.json",
                         R"({"schema": 1, "name": "toy", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 2,
                             "vocabulary": 300, "context_length": 128})");
  }
  const Folder folder_;
};

TEST_F(MakeRandom, writes_a_file_that_other_commands_take) {
  const std::string file = folder_.file("toy.gguf");
  const Ended text = tandem({"make-random", "--shape", shape(), "--type", "q8_0", "-o", file});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("toy, q8_0"));
  EXPECT_THAT(text.out, HasSubstr("random weights"));
  const json read = json_of({"info", "-m", file});
  EXPECT_EQ(read.at("shapes").at("layers"), 2);
  EXPECT_EQ(read.at("shapes").at("vocabulary"), 300);
  const json answer = json_of(Arguments{"run", "-m", file, "-p", "any text", "-n", "5", "--ignore-eos"} + on_host());
  EXPECT_EQ(answer.at("ids").size(), 5u);
}

// Five of six layers see a window. The run writes a text that is longer than the window.
TEST_F(MakeRandom, writes_models_whose_layers_differ) {
  const std::string file = folder_.file("windows.gguf");
  const std::string windows = folder_.write(
      "windows.json", R"({"schema": 1, "architecture": "gemma3", "layers": 6, "hidden": 64, "feed_forward": 96,
                          "heads": 2, "head_dim": 32, "vocabulary": 300, "context_length": 128, "sliding_window": 8,
                          "tied_output": true})");
  EXPECT_EQ(tandem({"make-random", "--shape", windows, "--type", "q8_0", "-o", file, "-q"}).status, 0);
  const json shapes = json_of({"info", "-m", file}).at("shapes");
  EXPECT_EQ(shapes.at("window"), 8);
  EXPECT_EQ(shapes.at("window_layers"), 5);
  EXPECT_EQ(shapes.at("activation"), "gelu_tanh");
  const json answer = json_of(Arguments{"run", "-m", file, "-p", "any text", "-n", "20", "--ignore-eos"} + on_host());
  EXPECT_EQ(answer.at("ids").size(), 20u);
  const Ended unknown = tandem({"make-random", "--shape",
                                folder_.write("unknown.json", R"({"schema": 1, "architecture": "abacus", "layers": 1,
                                "hidden": 64, "feed_forward": 96, "heads": 2, "vocabulary": 300})"),
                                "-o", file});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("abacus"));
}

TEST_F(MakeRandom, tells_what_it_wrote_and_writes_the_same_for_the_same_seed) {
  const std::string first = folder_.file("first.gguf"), second = folder_.file("second.gguf");
  const Arguments base = {"make-random", "--shape", shape(), "--type", "Q4_K"};
  const json report = json_of(base + Arguments{"--output", first, "--seed", "5"});
  EXPECT_EQ(report.at("file"), first);
  EXPECT_EQ(report.at("shape"), "toy");
  EXPECT_EQ(report.at("seed"), 5);
  EXPECT_EQ(report.at("bytes"), std::filesystem::file_size(first));
  EXPECT_EQ(report.at("replaced").front(), "token_embd.weight: Q8_0") << "64 columns are no block of 256";
  EXPECT_EQ(tandem(base + Arguments{"-o", second, "-s", "5", "-q"}).err, "");
  EXPECT_EQ(content_of(second), content_of(first));
  json_of(base + Arguments{"-o", second, "-s", "6", "-v"});
  EXPECT_NE(content_of(second), content_of(first));
}

TEST_F(MakeRandom, names_what_there_is_instead_of_what_there_is_not) {
  const std::string file = folder_.file("never.gguf");
  const Ended no_shape = tandem({"make-random", "--shape", "gpt-9", "-o", file});
  EXPECT_EQ(no_shape.status, 2);
  EXPECT_THAT(no_shape.err, HasSubstr("llama-3.2-1b"));
  const Ended no_type = tandem({"make-random", "--shape", shape(), "--type", "Q9", "-o", file});
  EXPECT_EQ(no_type.status, 2);
  EXPECT_THAT(no_type.err, HasSubstr("Q4_K"));
  EXPECT_EQ(tandem({"make-random", "--shape", shape()}).status, 2) << "without a file to write";
  const Ended nowhere = tandem({"make-random", "--shape", shape(), "-o", folder_.file("no/where.gguf")});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("no/where.gguf"));
  EXPECT_THAT(folder_.names(), ElementsAre("shape.json"));
}

TEST_F(MakeRandom, leaves_nothing_when_it_is_interrupted) {
  Child child({"make-random", "--shape", "llama-3-8b", "--type", "F16", "-o", folder_.file("large.gguf")});
  const auto begun = [&] {
    for (const std::string& name : folder_.names())
      if (name.starts_with("large.gguf.part") && std::filesystem::file_size(folder_.file(name)) > 0) return true;
    return false;
  };
  ASSERT_TRUE(child.wait_until(begun)) << child.err();
  child.interrupt();
  EXPECT_EQ(child.wait().status, 130);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

}  // namespace
}  // namespace tandem::testing
