// The sampler's flags through `tandem run`. The test computes from the golden logits which tokens may be drawn.
#include <cmath>
#include <numeric>
#include <set>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

using Ids = std::vector<int>;

const Arguments kNothingLeftOut = {"--top-k", "0", "--top-p", "1", "--min-p", "0"};

class RunSampling : public ::testing::Test {
 protected:
  Ids ids(const std::string& prompt, const Arguments& more) const {
    return json_of(Arguments{"run", "-m", stories(), "-p", golden(prompt).at("prompt")} + on_host() + more).at("ids");
  }
  // The first tokens behind the prompt "lily" with several seeds.
  std::set<int> drawn(const Arguments& more) const {
    std::set<int> seen;
    for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"})
      seen.insert(ids("lily", Arguments{"-n", "1", "--temp", "1", "--seed", seed} + more).at(0));
    return seen;
  }
};

// {probability, id} of the tokens behind the prompt "lily" at temperature 1, most likely first.
std::vector<std::pair<double, int>> probabilities() {
  const json entry = golden("lily");
  const auto vocabulary = entry.at("logits_shape").at(1).get<size_t>();
  const std::vector<float> logits = floats_of(golden_logits(entry));
  std::vector<std::pair<double, int>> list;
  double sum = 0;
  for (size_t i = 0; i < vocabulary; ++i) {
    const double weight = std::exp(static_cast<double>(logits[logits.size() - vocabulary + i]));
    list.emplace_back(weight, static_cast<int>(i));
    sum += weight;
  }
  for (auto& [weight, id] : list) weight /= sum;
  std::ranges::sort(list, std::greater<>());
  return list;
}

bool within(const std::set<int>& part, const std::set<int>& whole) { return std::ranges::includes(whole, part); }

TEST_F(RunSampling, draws_only_tokens_that_top_k_top_p_and_min_p_leave) {
  const auto likely = probabilities();
  std::set<int> two, mass, share;
  double sum = 0;
  for (const auto& [probability, id] : likely) {
    if (two.size() < 2) two.insert(id);
    if (sum < 0.35) mass.insert(id);  // the smallest set of tokens with that mass
    sum += probability;
    if (probability >= 0.6 * likely.front().first) share.insert(id);
  }
  ASSERT_EQ(mass.size(), 3u);
  ASSERT_EQ(share.size(), 4u);
  const std::set<int> all = drawn(kNothingLeftOut);
  const std::set<int> of_two = drawn({"--top-k", "2", "--top-p", "1", "--min-p", "0"});
  const std::set<int> of_mass = drawn({"--top-k", "0", "--top-p", "0.35", "--min-p", "0"});
  const std::set<int> of_share = drawn({"--top-k", "0", "--top-p", "1", "--min-p", "0.6"});
  EXPECT_EQ(of_two, two);
  EXPECT_TRUE(within(of_mass, mass)) << ::testing::PrintToString(of_mass);
  EXPECT_TRUE(within(of_share, share)) << ::testing::PrintToString(of_share);
  EXPECT_GT(of_mass.size(), 1u);
  EXPECT_GT(of_share.size(), 2u) << "more than top-p leaves";
  EXPECT_FALSE(within(all, share)) << "otherwise nothing was left out";
}

TEST_F(RunSampling, is_greedy_where_one_token_is_left_at_any_temperature) {
  const Ids all_greedy = golden("story").at("greedy_ids");
  const Ids greedy(all_greedy.begin(), all_greedy.begin() + 12);
  const auto hot = [&](const Arguments& more) {
    return ids("story", Arguments{"-n", "12", "--temp", "5", "-s", "3"} + more);
  };
  EXPECT_NE(hot(kNothingLeftOut), greedy);
  EXPECT_EQ(hot({"--top-k", "1", "--top-p", "1", "--min-p", "0"}), greedy);
  EXPECT_EQ(hot({"--top-k", "0", "--top-p", "0.000001", "--min-p", "0"}), greedy);
  EXPECT_EQ(hot({"--top-k", "0", "--top-p", "1", "--min-p", "1"}), greedy);
  EXPECT_EQ(ids("story", {"-n", "12", "--temp", "0", "-s", "3"}), greedy);
  // A low temperature is close to greedy.
  EXPECT_EQ(ids("story", Arguments{"-n", "12", "--temp", "0.01", "-s", "3"} + kNothingLeftOut), greedy);
}

TEST_F(RunSampling, gives_the_same_text_for_the_same_seed_and_another_for_another) {
  const auto with_seed = [&](const std::string& seed) {
    return ids("story", {"-n", "24", "--temp", "1.5", "--seed", seed});
  };
  const Ids first = with_seed("11");
  EXPECT_EQ(with_seed("11"), first);
  EXPECT_NE(with_seed("12"), first);
  EXPECT_NE(with_seed("-1"), with_seed("-1")) << "a random one each time";
}

TEST_F(RunSampling, tells_in_json_what_was_drawn_with_so_that_it_can_be_drawn_again) {
  const Arguments run = Arguments{"run", "-m", stories(), "-p", golden("story").at("prompt")} + on_host();
  const json answer = json_of(run + Arguments{"-n", "12", "--temp", "1.5", "-s", "-1", "--top-k", "30", "--top-p",
                                              "0.9", "--min-p", "0.01", "--repeat-penalty", "1.1"});
  EXPECT_EQ(answer.at("temp"), 1.5);
  EXPECT_EQ(answer.at("top_k"), 30);
  EXPECT_EQ(answer.at("top_p"), 0.9);
  EXPECT_EQ(answer.at("min_p"), 0.01);
  EXPECT_EQ(answer.at("repeat_penalty"), 1.1);
  EXPECT_EQ(ids("story", {"-n", "12", "--temp", "1.5", "-s", answer.at("seed").dump(), "--top-k", "30", "--top-p",
                          "0.9", "--min-p", "0.01", "--repeat-penalty", "1.1"}),
            answer.at("ids").get<Ids>());
}

TEST_F(RunSampling, tells_a_drawn_seed_in_the_last_line_and_no_other) {
  const Arguments run = Arguments{"run", "-m", stories(), "-p", "Once", "-n", "8", "--temp", "1.5"} + on_host();
  const Ended drawn = tandem(run + Arguments{"-s", "-1"});
  EXPECT_EQ(drawn.status, 0) << drawn.err;
  const size_t last = drawn.err.rfind("\nseed ");
  ASSERT_NE(last, std::string::npos) << drawn.err;
  EXPECT_EQ(drawn.err.find('\n', last + 1), drawn.err.size() - 1) << "is the last line";
  const std::string seed = drawn.err.substr(last + 6, drawn.err.find(' ', last + 6) - last - 6);
  EXPECT_EQ(tandem(run + Arguments{"-s", seed}).out, drawn.out);
  EXPECT_THAT(tandem(run + Arguments{"-s", "7"}).err, Not(HasSubstr("seed")));
}

// Every token is the best one after the penalty on the last 64 tokens, by the logits that `eval` writes.
TEST_F(RunSampling, makes_recent_tokens_less_likely_as_the_penalty_says) {
  constexpr float kPenalty = 1.6f;
  const Folder folder;
  const Ids prompt = golden("lily").at("prompt_ids");
  const Ids chosen = ids("lily", {"-n", "16", "--repeat-penalty", "1.6"});
  const Ids greedy = golden("lily").at("greedy_ids");
  EXPECT_NE(chosen, Ids(greedy.begin(), greedy.begin() + 16));

  Ids all = prompt;
  all.insert(all.end(), chosen.begin(), chosen.end());
  ASSERT_LE(all.size(), 64u) << "all of them are recent";
  const std::string file = folder.write("ids.txt", words(all));
  json_of(Arguments{"eval", "-m", stories(), "--ids", file, "--logits", folder.file("logits")} + on_host());
  const std::vector<float> logits = floats_of(folder.file("logits"));
  const size_t vocabulary = logits.size() / all.size();
  for (size_t i = 0; i < chosen.size(); ++i) {
    const size_t last = prompt.size() + i - 1;
    std::vector<float> row(logits.begin() + static_cast<ptrdiff_t>(last * vocabulary),
                           logits.begin() + static_cast<ptrdiff_t>((last + 1) * vocabulary));
    for (const int id : std::set<int>(all.begin(), all.begin() + static_cast<ptrdiff_t>(last) + 1)) {
      float& logit = row[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / kPenalty : logit * kPenalty;
    }
    EXPECT_EQ(chosen[i], std::ranges::max_element(row) - row.begin()) << "token " << i;
  }
}

}  // namespace
}  // namespace tandem::testing
