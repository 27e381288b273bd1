// `tandem make-moe` as a whole program: mixtures of experts made of a small trained model, which other commands run.
#include <filesystem>
#include <numeric>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class MakeMoe : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  // The text has enough windows for a router and for counting.
  std::string text() const {
    std::string words;
    for (int i = 0; i < 60; ++i)
      words += "Once upon a time there was a little girl who had " + std::to_string(i) + " cats. ";
    return folder_.write("text.txt", words);
  }
  json counts_of(const std::string& model, const std::string& read) const {
    return json_of({"calibrate-moe", "-m", model, "-f", read, "-o", file("counts.json"), "--device", "host"});
  }
  // The text that the model writes behind a prompt whose continuation by the dense model is known.
  static std::string story_of(const std::string& model) {
    const json known = golden("story");
    const std::string count = std::to_string(known.at("greedy_ids").size());
    return json_of(Arguments{"run", "-m", model, "-p", known.at("prompt"), "-n", count, "--ignore-eos"} + on_host())
        .at("text");
  }

  const Folder folder_;
};

// 4 experts of 43 rows make up the 172 rows. Times 4 is exact in F16, so only the order of sums differs.
TEST_F(MakeMoe, splits_a_model_that_writes_the_same_with_all_experts_active) {
  const std::string made = file("split.gguf");
  const json answer = json_of({"make-moe", "-m", stories(), "--experts", "4", "--used", "4", "--kind", "split",
                               "--router", "even", "-o", made});
  EXPECT_EQ(answer.at("file"), made);
  EXPECT_EQ(answer.at("architecture"), "llama");
  EXPECT_EQ(answer.at("experts"), 4);
  EXPECT_EQ(answer.at("experts_used"), 4);
  EXPECT_EQ(answer.at("kind"), "split");
  EXPECT_EQ(answer.at("expert_width"), 43);
  EXPECT_EQ(answer.at("router"), "even");
  EXPECT_EQ(answer.at("tokens"), 0);
  EXPECT_EQ(answer.at("rounded"), false);
  EXPECT_EQ(answer.at("bytes"), std::filesystem::file_size(made));
  EXPECT_EQ(story_of(made), golden("story").at("greedy_text").get<std::string>());
}

TEST_F(MakeMoe, clones_a_model_that_writes_the_same_whatever_its_routers_say) {
  const std::string made = file("cloned.gguf");
  const Ended text = tandem({"make-moe", "-m", stories(), "--experts", "3", "--kind", "cloned", "-o", made, "-v"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("3 cloned experts of width 172, of which a token goes to 2; routers of "));
  EXPECT_THAT(text.out, Not(HasSubstr("rounded")));
  EXPECT_EQ(story_of(made), golden("story").at("greedy_text").get<std::string>());
}

// The text's router sends tokens to many experts, and some are busier than others. An even router sends all tokens to
// the first two experts.
TEST_F(MakeMoe, sends_tokens_where_the_text_says) {
  const std::string read = text(), made = file("kmeans.gguf"), even = file("even.gguf");
  const json answer = json_of({"make-moe", "-m", stories(), "--experts", "43", "-f", read, "-o", made});
  EXPECT_GT(answer.at("tokens"), 1000);
  EXPECT_LE(answer.at("tokens"), 4096);
  EXPECT_EQ(answer.at("router"), "kmeans");
  const json of_made = counts_of(made, read);
  for (const json& layer : of_made.at("layers")) {
    const auto counts = layer.at("counts").get<std::vector<int64_t>>();
    ASSERT_EQ(counts.size(), 43u);
    EXPECT_GE(std::ranges::count_if(counts, [](int64_t count) { return count > 0; }), 20);
    EXPECT_GT(layer.at("imbalance"), 1.2);
  }
  json_of({"make-moe", "-m", stories(), "--experts", "43", "--router", "even", "-o", even});
  const json of_even = counts_of(even, read);
  for (const json& layer : of_even.at("layers")) {
    EXPECT_NEAR(layer.at("imbalance"), 43.0 / 2, 1e-9);
    EXPECT_EQ(layer.at("counts").at(0), layer.at("counts").at(1));
    EXPECT_EQ(layer.at("counts").at(2), 0);
  }
}

TEST_F(MakeMoe, writes_the_same_for_the_same_seed_and_text) {
  const std::string first = file("first.gguf"), second = file("second.gguf");
  const Arguments base = {"make-moe", "-m", stories(), "--experts", "4"};
  EXPECT_EQ(json_of(base + Arguments{"--output", first, "--seed", "5"}).at("seed"), 5);
  EXPECT_EQ(tandem(base + Arguments{"-o", second, "-s", "5", "-q"}).err, "");
  EXPECT_TRUE(content_of(second) == content_of(first));
  json_of(base + Arguments{"-o", second, "-s", "6"});
  EXPECT_FALSE(content_of(second) == content_of(first));
  json_of(base + Arguments{"-o", second, "-s", "5", "--file", text()});
  EXPECT_FALSE(content_of(second) == content_of(first));
}

TEST_F(MakeMoe, says_what_is_rounded) {
  const Ended text = tandem(
      {"make-moe", "-m", stories(), "--experts", "4", "--used", "3", "--router", "even", "-o", file("three.gguf")});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("ffn_down times 3 is rounded"));
}

TEST_F(MakeMoe, refuses_what_cannot_be_made) {
  const std::string never = file("never.gguf");
  const auto fails = [&](const Arguments& more, int status, const std::string& why) {
    const Ended ended = tandem(Arguments{"make-moe"} + more);
    EXPECT_EQ(ended.status, status) << ::testing::PrintToString(more);
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(never));
  };
  const Arguments model = {"-m", stories(), "-o", never};
  fails(model + Arguments{"--experts", "5"}, 1, "Numbers of experts that work: 2, 4, 43, 86, 172");
  fails(model + Arguments{"--experts", "4", "--used", "5"}, 1, "expected 1 to 4");
  fails(model + Arguments{"--experts", "1"}, 2, "--experts");
  fails(model + Arguments{"--experts", "4", "--used", "0"}, 2, "--used");
  fails(model + Arguments{"--experts", "4", "--kind", "halved"}, 2, "--kind");
  fails(model + Arguments{"--experts", "4", "--router", "random"}, 2, "--router");
  fails(model + Arguments{"--experts", "4", "--router", "even", "-f", text()}, 2, "reads no text");
  fails(model + Arguments{"--experts", "4", "-f", folder_.write("short", "a")}, 1, "the text is too short");
  fails(model + Arguments{"--experts", "4", "-f", file("absent")}, 1, "absent");
  fails(model, 2, "--experts");
  fails({"-m", stories(), "--experts", "4"}, 2, "--output");

  const std::string made = file("made.gguf");
  ASSERT_EQ(tandem({"make-moe", "-m", stories(), "--experts", "4", "--router", "even", "-o", made, "-q"}).status, 0);
  fails({"-m", made, "-o", never, "--experts", "2"}, 1, "has experts already");
  const std::string before = content_of(made);
  fails({"-m", made, "-o", file("./made.gguf"), "--experts", "2"}, 1, "the file to write is the model itself");
  EXPECT_TRUE(content_of(made) == before);
}

TEST_F(MakeMoe, leaves_nothing_when_it_is_interrupted) {
  Child child({"make-moe", "-m", stories(), "--experts", "4096", "--kind", "cloned", "--router", "even", "-o",
               file("large.gguf")});
  const auto begun = [&] {
    for (const std::string& name : folder_.names())
      if (name.starts_with("large.gguf.part") && std::filesystem::file_size(file(name)) > 0) return true;
    return false;
  };
  ASSERT_TRUE(child.wait_until(begun)) << child.err();
  child.interrupt();
  EXPECT_EQ(child.wait().status, 130);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

}  // namespace
}  // namespace tandem::testing
