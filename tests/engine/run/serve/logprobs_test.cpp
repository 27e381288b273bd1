// Probabilities of tokens, by hand.
#include "engine/run/serve/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

// Softmax of ln 1, ln 2, ln 5: 1/8, 2/8, 5/8. The shift by 1000 does not change it, and exp(1000) is infinite.
TEST(Logprobs, are_those_of_the_softmax) {
  const std::vector<float> logits = {1000.0f, 1000 + std::log(2.0f), 1000 + std::log(5.0f)};
  const ChosenToken chosen = with_logprobs(logits, 1, 2);
  EXPECT_EQ(chosen.id, 1);
  EXPECT_NEAR(chosen.logprob, std::log(0.25), 1e-4);
  ASSERT_EQ(chosen.likely.size(), 2u);
  EXPECT_EQ(chosen.likely[0].id, 2);
  EXPECT_NEAR(chosen.likely[0].logprob, std::log(0.625), 1e-4);
  EXPECT_EQ(chosen.likely[1].id, 1);
  EXPECT_TRUE(with_logprobs(logits, 0, 0).likely.empty());
  EXPECT_EQ(with_logprobs(logits, 0, 20).likely.size(), 3u) << "there are no more tokens";
}

// A greedy text takes the most likely token at each place. The callback gets each token before its text.
TEST(Logprobs, come_with_each_token_of_a_text) {
  const testing::HostEngines engines("logprobs");
  const auto engine = engines.open();
  std::vector<int32_t> told;
  size_t pieces = 0, late = 0;
  GenerateOptions options = testing::so_many(9);
  options.logprobs = 2;
  options.on_token = [&](const ChosenToken& token) {
    told.push_back(token.id);
    ASSERT_EQ(token.likely.size(), 2u);
    EXPECT_EQ(token.likely.front().id, token.id);
    EXPECT_EQ(token.likely.front().logprob, token.logprob);
    EXPECT_GE(token.likely[0].logprob, token.likely[1].logprob);
    EXPECT_LE(token.logprob, 0);
  };
  options.on_text = [&](std::string_view) {
    if (++pieces > told.size()) ++late;
  };
  const Generation text = generate(*engine, testing::some_ids(5), options);
  EXPECT_EQ(told, text.ids);
  EXPECT_EQ(late, 0u);
}

// Each pass has rows for few tokens, two texts share passes, and the second prompt could share an earlier one's pages.
TEST(Logprobs, come_with_each_token_of_a_prompt) {
  const testing::HostEngines engines("logprobs of prompts");
  EngineOptions of_engine = engines.options();
  of_engine.sequences = 2;
  of_engine.logit_rows = 5;
  const auto engine = Engine::open(of_engine);
  const std::vector<std::vector<int32_t>> prompts = {testing::some_ids(23), testing::some_ids(40),
                                                     testing::some_ids(23)};
  Batcher batcher(*engine, 2);
  std::vector<std::vector<ChosenToken>> told(prompts.size());
  std::vector<Generation> written(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions options = testing::so_many(3);
    options.logprobs = 2;
    options.on_prompt_token = [&told, i](const ChosenToken& token) { told[i].push_back(token); };
    options.on_token = [&told, &prompts, i](const ChosenToken&) { EXPECT_EQ(told[i].size(), prompts[i].size()); };
    batcher.add(prompts[i], options, [&written, i](const Batcher::Result& ended) { written[i] = ended.generation; });
  }
  while (batcher.step()) {
  }
  const auto alone = engines.open();
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(written[i].ids, generate(*alone, prompts[i], testing::so_many(3)).ids);
    EXPECT_EQ(written[i].cached_prefix_tokens, 0);
    ASSERT_EQ(told[i].size(), prompts[i].size());
    EXPECT_EQ(told[i].front().logprob, 0);
    EXPECT_TRUE(told[i].front().likely.empty());
    Sequence text = alone->cache().new_sequence();
    for (size_t t = 0; t + 1 < prompts[i].size(); ++t) {
      const Logits row = extend(*alone, text, std::span(&prompts[i][t], 1));
      const ChosenToken expected = with_logprobs(row, prompts[i][t + 1], 2);
      EXPECT_EQ(told[i][t + 1].id, expected.id);
      EXPECT_EQ(told[i][t + 1].logprob, expected.logprob) << i << " " << t;
      EXPECT_EQ(told[i][t + 1].likely[1].id, expected.likely[1].id);
    }
  }
}

}  // namespace
}  // namespace tandem
