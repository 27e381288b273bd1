// SmolLM2-135M-Instruct Q4_1, the model that a new user runs first: golden tokens and perplexity on every plan.

#include <map>
#include <set>

#include "engine/run/serve/perplexity.h"
#include "tests/engine/run/golden.h"

namespace tandem::testing {
namespace {

class DefaultModel : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    model_ = default_model();
    if (!model_) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
    golden_ = read_json(repository_data("smollm2/golden.json"));
  }
  // Given shares stay fixed, so each matmul is on both devices. Measured shares may have any value.
  static void expect_cuts(Engine& engine, int64_t tokens) {
    std::map<std::string, std::set<int>> devices;
    for (const Step& step : engine.plans().planner().plan_for({tokens, 1}, 0).steps) {
      for (const Operator& op : step.operators)
        if (std::holds_alternative<MatMul>(op.body)) devices[op.name].insert(step.device);
    }
    for (const auto& [name, on] : devices) EXPECT_EQ(on.size(), 2u) << name;
  }
  // A choice with a margin below this may go either way.
  double margin() const { return GetParam().uses_npu() ? 0.1 : 0.05; }
  std::optional<std::string> model_;
  nlohmann::json golden_;
};

// The text may differ from the golden one at a near-tie. From there on the engine reads the golden tokens, so that
// every choice is judged.
TEST_P(DefaultModel, makes_every_golden_choice_that_is_not_a_near_tie) {
  const auto engine = open_engine(*model_, GetParam());
  for (const auto& prompt : golden_.at("prompts")) {
    SCOPED_TRACE(prompt.at("name").get<std::string>() + " " + GetParam().name());
    const auto ids = prompt.at("ids").get<std::vector<int32_t>>();
    EXPECT_EQ(engine->model().tokenizer().encode(prompt.at("text").get<std::string>(), {}), ids);
    const auto expected = prompt.at("greedy").get<std::vector<int32_t>>();
    const auto margins = prompt.at("margins").get<std::vector<double>>();
    if (!GetParam().split.empty()) expect_cuts(*engine, static_cast<int64_t>(ids.size()));
    Sequence text = engine->cache().new_sequence();
    Logits logits = extend(*engine, text, ids);
    for (const auto& pair : prompt.at("top20_last")) {
      EXPECT_NEAR(logits[pair.at(0).get<size_t>()], pair.at(1).get<double>(), 0.15);
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (margins[i] > margin()) {
        EXPECT_EQ(greedy_choice(logits), expected[i]) << "token " << i;
      }
      if (i + 1 < expected.size()) logits = extend(*engine, text, std::span(&expected[i], 1));
    }
  }
}

TEST_P(DefaultModel, has_the_golden_perplexity) {
  const auto text_path = test_data("text/wikitext-2_valid.txt");
  if (!text_path) SKIP_FOR_WANT_OF(data, "no text/wikitext-2_valid.txt");
  std::ifstream in(*text_path, std::ios::binary);
  std::string text(40000, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto engine = open_engine(*model_, GetParam());
  std::vector<int32_t> ids = engine->model().tokenizer().encode(text, {});
  ids.resize(golden_.at("perplexity").at("tokens").get<size_t>());
  const auto first = golden_.at("perplexity").at("ids_first16").get<std::vector<int32_t>>();
  ASSERT_TRUE(std::equal(first.begin(), first.end(), ids.begin()));
  LogLikelihood sum;
  const size_t V = static_cast<size_t>(engine->model().config().vocabulary);
  Sequence sequence = engine->cache().new_sequence();
  extend_all(*engine, sequence, ids, [&](int64_t begin, std::span<const float> logits) {
    for (size_t s = 0; s * V < logits.size(); ++s) {
      const size_t next = static_cast<size_t>(begin) + s + 1;
      if (next >= ids.size()) break;
      sum.negative_log_sum += negative_log_likelihood(logits.subspan(s * V, V), ids[next]);
      ++sum.tokens;
    }
  });
  const double expected = golden_.at("perplexity").at("ppl"), allowed = GetParam().uses_npu() ? 0.01 : 0.005;
  EXPECT_NEAR(sum.perplexity(), expected, allowed * expected);
}

INSTANTIATE_TEST_SUITE_P(Plans, DefaultModel,
                         ::testing::Values(Way{"host-only", {}, "", {}, KvType::f16},
                                           Way{"gpu-only", {}, "", {}, KvType::f16},
                                           Way{"layer", {}, "", {}, KvType::f16},
                                           Way{"tensor", {0.5}, "", {}, KvType::f16},
                                           Way{"auto", {}, "", {}, KvType::f16}),
                         test_name);

}  // namespace
}  // namespace tandem::testing
