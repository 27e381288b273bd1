// The law of Table 5 on a chip with round numbers.
#include "engine/moe/chip_experts.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/moe/round_chip.h"

namespace tandem {
namespace {

constexpr ExpertSize kSize = testing::kRoundExpert;

ChipExperts chip() {
  ChipExperts chip = testing::round_chip();
  chip.full_rate_rows = 4;
  chip.beyond_rate_share = 0.5;
  chip.queues = 3;
  chip.queue_gain = 0.5;
  chip.static_watts = 2;
  return chip;
}

TEST(ExpertSize, counts_three_matrices_of_16_bit_floats) {
  const ExpertSize phi{4096, 6400};
  EXPECT_EQ(phi.weight_bytes(), int64_t{150} << 20);
  EXPECT_DOUBLE_EQ(phi.row_flops(), 157286400.0);
}

TEST(GraphSeconds, are_a_launch_and_of_each_expert_its_weights_and_rows) {
  EXPECT_DOUBLE_EQ(graph_seconds(chip(), kSize, 2, 3), 1 + 2 * (2 + 3));
  EXPECT_DOUBLE_EQ(graph_seconds(chip(), kSize, 2, 4), 1 + 2 * (2 + 4));
  EXPECT_DOUBLE_EQ(graph_seconds(chip(), kSize, 2, 6), 1 + 2 * (2 + 6 + 0.5 * 2)) << "two rows beyond the full rate";
  EXPECT_DOUBLE_EQ(graph_joules(chip(), kSize, 2, 3), 1 + 2 * (6 + 3 * 6));
}

TEST(CpuSeconds, are_the_experts_weights_and_the_tokens) {
  EXPECT_DOUBLE_EQ(cpu_seconds(chip(), kSize, 2, 5), 2 * 2 + 5 * 2);
}

TEST(TogetherGain, comes_in_rounds_of_as_many_graphs_as_there_are_queues) {
  // Two queues are 1.5 times as fast as one queue, and three are twice as fast.
  EXPECT_DOUBLE_EQ(together_gain(chip(), 0), 1);
  EXPECT_DOUBLE_EQ(together_gain(chip(), 1), 1);
  EXPECT_DOUBLE_EQ(together_gain(chip(), 2), 1.5);
  EXPECT_DOUBLE_EQ(together_gain(chip(), 3), 2);
  EXPECT_DOUBLE_EQ(together_gain(chip(), 4), 4 / (3 / 2.0 + 1));
  EXPECT_DOUBLE_EQ(together_gain(chip(), 6), 2);
}

TEST(GraphsTogether, gain_up_to_the_rows_of_the_full_rate_and_save_static_power) {
  const std::vector<ExpertGroup> two{{3, {0, 1}}, {3, {2, 3}}};
  EXPECT_DOUBLE_EQ(graphs_seconds(chip(), kSize, two, GraphOrder::serial), 22);
  EXPECT_DOUBLE_EQ(graphs_seconds(chip(), kSize, two, GraphOrder::together), 22 / 1.5);
  EXPECT_DOUBLE_EQ(graphs_joules(chip(), kSize, two, GraphOrder::serial), 98);
  EXPECT_DOUBLE_EQ(graphs_joules(chip(), kSize, two, GraphOrder::together), 98 - 2 * (22 - 22 / 1.5));
  const std::vector<ExpertGroup> with_a_large_one{{3, {0, 1}}, {3, {2, 3}}, {6, {4, 5}}};
  EXPECT_DOUBLE_EQ(graphs_seconds(chip(), kSize, with_a_large_one, GraphOrder::together), 22 / 1.5 + 19);
}

TEST(ResidencyCosts, are_those_of_the_chip) {
  const ResidencyCosts costs = residency_costs(chip(), kSize);
  EXPECT_DOUBLE_EQ(costs.launch_seconds + costs.npu_seconds(6, 2), graph_seconds(chip(), kSize, 2, 3));
  EXPECT_DOUBLE_EQ(costs.other_seconds(5, 2), 14);
  EXPECT_DOUBLE_EQ(costs.npu_seconds(0, 0), 0);
}

}  // namespace
}  // namespace tandem
