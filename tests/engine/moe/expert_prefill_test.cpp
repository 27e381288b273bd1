// One layer with two experts on a chip with round numbers. Three tokens of a chunk of 4 go to expert 0, which has 4
// rows. Expert 1 has 2. On the NPU the two graphs take 1 + 2 + 4 = 7 and 1 + 2 + 2 = 5 s (launch, weights, rows). On
// the CPU they take 2 + 6 = 8 and 2 + 2 = 4 s. So expert 0 lives on the NPU.
#include "engine/moe/expert_prefill.h"

#include <gtest/gtest.h>

#include "sync/error.h"
#include "tests/engine/moe/round_chip.h"

namespace tandem {
namespace {

ChipExperts prefill_chip() {
  ChipExperts chip = testing::round_chip();
  chip.full_rate_rows = 64;
  chip.graph_bytes = 12;
  chip.queues = 1;
  chip.attention_flops = 72;
  chip.attention_watts = 3;
  chip.cpu_attention_flops = 144;
  chip.cpu_watts = 10;
  chip.naive_sync_seconds = 4;
  chip.host_seconds_per_token = 0.5;
  chip.host_core_share = 0.2;
  chip.communication_watts = 1;
  return chip;
}

// Attention for 4 tokens takes 144 operations: 2 x 4 x (10 + 4 x 2).
constexpr MixtureShape kShape{1, 2, 1, testing::kRoundExpert, 0, 10, 4};
const std::vector<std::vector<double>> kShares{{0.75, 0.25}};

ExpertTimes times_of(ExpertEngine engine, int64_t P = 4, const ChipExperts& on = prefill_chip()) {
  ExpertRules rules = paper_rules(on);
  rules.tiers.step = 1;
  return prefill_times(on, kShape, engine, P, 4, kShares, rules);
}

TEST(ExpertPrefill, on_the_cpu_is_attention_weights_and_tokens) {
  const ExpertTimes times = times_of(ExpertEngine::cpu);
  EXPECT_DOUBLE_EQ(times.attention_seconds, 1);
  EXPECT_DOUBLE_EQ(times.expert_seconds, 2 * 2 + 4 * 2);
  EXPECT_DOUBLE_EQ(times.cpu_seconds, 1 + 12 + 4 * 0.5 * 0.2);
  EXPECT_DOUBLE_EQ(times.cpu_joules, 134);
  EXPECT_DOUBLE_EQ(times.communication_joules, 13);
  EXPECT_EQ(times.launches, 0);
}

TEST(ExpertPrefill, of_ours_runs_cold_groups_beside_the_npu) {
  const ExpertTimes times = times_of(ExpertEngine::ours);
  EXPECT_DOUBLE_EQ(times.attention_seconds, 2);
  EXPECT_DOUBLE_EQ(times.expert_seconds, 7) << "4 s of the CPU lie beside it";
  EXPECT_DOUBLE_EQ(times.dispatch_seconds, 1);
  EXPECT_DOUBLE_EQ(times.cpu_seconds, 4 + 0.2 * 1 + 0.4);
  EXPECT_DOUBLE_EQ(times.npu_joules, 1 + 6 + 4 * 6 + 2 * 3);
  EXPECT_DOUBLE_EQ(times.joules(), 37 + 46 + 9);
  EXPECT_EQ(times.launches, 1);
  EXPECT_EQ(times.slots, 4);
}

TEST(ExpertPrefill, of_the_naive_engine_waits_at_every_launch) {
  const ExpertTimes times = times_of(ExpertEngine::naive);
  EXPECT_DOUBLE_EQ(times.attention_seconds, 1);
  EXPECT_DOUBLE_EQ(times.expert_seconds, 2 * 7 + 2 * 4);
  EXPECT_DOUBLE_EQ(times.dispatch_seconds, 2 * (1 + 4));
  EXPECT_DOUBLE_EQ(times.cpu_seconds, 1 + 0.2 * 10 + 0.4);
  EXPECT_EQ(times.slots, 8);
}

TEST(ExpertPrefill, differs_between_engines_in_one_rule_each) {
  const ExpertTimes anemll = times_of(ExpertEngine::anemll);
  EXPECT_DOUBLE_EQ(anemll.attention_seconds, 2);
  EXPECT_DOUBLE_EQ(anemll.expert_seconds, 12);
  EXPECT_DOUBLE_EQ(times_of(ExpertEngine::base).expert_seconds, 14) << "two graphs of 4 rows";
  EXPECT_DOUBLE_EQ(times_of(ExpertEngine::tiers).expert_seconds, 7 + 5);
  EXPECT_EQ(times_of(ExpertEngine::tier_groups).launches, 2) << "one for each tier";
}

TEST(ExpertPrefill, fills_up_the_last_chunk) {
  const ExpertTimes five = times_of(ExpertEngine::ours, 5);
  EXPECT_DOUBLE_EQ(five.expert_seconds, 2 * 7);
  EXPECT_DOUBLE_EQ(five.attention_seconds, 2.0 * 5 * (10 + 4 * 2.5) / 72);
  EXPECT_EQ(five.launches, 2);
  EXPECT_THROW(times_of(ExpertEngine::ours, 0), Error);
}

TEST(ExpertPrefill, computes_experts_that_no_graph_holds_on_the_cpu) {
  ChipExperts small = prefill_chip();
  small.graph_bytes = 5;
  EXPECT_DOUBLE_EQ(times_of(ExpertEngine::ours, 4, small).expert_seconds, 12);
  EXPECT_EQ(times_of(ExpertEngine::ours, 4, small).launches, 0);
}

TEST(ExpertEngines, have_names_of_their_own) {
  EXPECT_EQ(name_of(ExpertEngine::cpu), "cpu");
  EXPECT_EQ(name_of(ExpertEngine::ours), "npumoe");
  EXPECT_EQ(name_of(ExpertEngine::tier_groups), "+tg");
  EXPECT_FALSE(experts_on_npu(ExpertEngine::anemll));
  EXPECT_TRUE(experts_on_npu(ExpertEngine::naive));
}

}  // namespace
}  // namespace tandem
