// S1, S4 and S7 on a chip and a model of round numbers.
#include "engine/plan/model_clock/chip_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Five layers of 100 weights and an output matrix of 500: 1,000 weights.
constexpr PassSize kSize{5, 100, 500};

// A pass shares 1 ms, and a token takes 10 us. A token on the CPU takes 2 ms, and each further one half of that.
ChipPasses round_chip() {
  ChipPasses chip;
  chip.weight_bytes_per_second = 1e6;
  chip.flops = 2e8;
  chip.prefill_tokens = 100;
  chip.decode_tokens = 50;
  chip.block_layers = 2;
  chip.cpu_flops = 1e6;
  chip.cpu_token_share = 0.5;
  return chip;
}

TEST(ChipPasses, take_their_shared_part_and_a_part_for_each_token) {
  const PassLine line = pass_line(round_chip(), kSize);
  EXPECT_DOUBLE_EQ(line.shared_seconds, 1e-3);
  EXPECT_DOUBLE_EQ(line.token_seconds, 1e-5);
  EXPECT_DOUBLE_EQ(line.seconds(32), 1.32e-3);
}

// SF9: 51.1 ms at length 1, and 5.7 ms a token at length 32, which is 182.4 ms. The slope is 131.3 / 31.
TEST(ChipPasses, lie_on_a_line_through_two_printed_ones) {
  const PassLine line = line_through(1, 51.1, 32, 182.4);
  EXPECT_NEAR(line.token_seconds, 4.2355, 1e-4);
  EXPECT_NEAR(line.shared_seconds, 46.8645, 1e-4);
  EXPECT_DOUBLE_EQ(line_through(3, 5, 1, 1).seconds(2), 3) << "in any order";
}

TEST(ChipPasses, take_longer_on_the_cpu_by_each_token) {
  EXPECT_DOUBLE_EQ(cpu_pass_seconds(round_chip(), kSize, 1), 2e-3);
  EXPECT_DOUBLE_EQ(cpu_pass_seconds(round_chip(), kSize, 3), 4e-3);
}

TEST(ChipPasses, load_a_byte_for_each_weight) { EXPECT_DOUBLE_EQ(graph_load_seconds(kSize, 1e5), 0.01); }

// Blocks of 2, 2 and 1 layers have 200, 200 and 100 + 500 of the 1,000 weights. A chunk of 100 takes 2 ms, or twice
// 1.5 ms on the decode graph. The load takes 10 ms.
TEST(ChipPasses, have_blocks_of_whole_layers_that_share_the_times_by_their_weights) {
  const GraphSwitchTimes times = graph_switch_times(round_chip(), kSize, pass_line(round_chip(), kSize), 1e5, 7);
  EXPECT_EQ(times.chunks, 7);
  EXPECT_THAT(times.prefill, ElementsAre(400, 400, 1200));
  EXPECT_THAT(times.decode, ElementsAre(600, 600, 1800));
  EXPECT_THAT(times.load, ElementsAre(2000, 2000, 6000));
}

TEST(ChipPasses, refuse_a_chunk_that_is_no_whole_number_of_decode_graphs) {
  ChipPasses chip = round_chip();
  chip.decode_tokens = 30;
  try {
    graph_switch_times(chip, kSize, pass_line(chip, kSize), 1e5, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("100 and 30 tokens"));
  }
}

TEST(ChipPasses, refuse_loads_that_never_end) {
  EXPECT_THROW(graph_switch_times(round_chip(), kSize, pass_line(round_chip(), kSize), 1e-300, 1), Error);
  EXPECT_THROW(graph_switch_times(round_chip(), kSize, pass_line(round_chip(), kSize), 1e-4, 1), Error);
  EXPECT_EQ(graph_switch_times(round_chip(), kSize, pass_line(round_chip(), kSize), 1e-2, 1).load[0], 20'000'000'000);
}

// Qwen2.5-1.5B: 1536 (1536 + 2 * 256) + 1536 * 1536 + 3 * 1536 * 8960 weights in each of 28 layers, and 151,936 * 1536.
TEST(PassSize, counts_the_matrices_that_a_pass_multiplies) {
  const PassSize size = pass_size(model_shape("qwen2.5-1.5b"));
  EXPECT_EQ(size.layers, 28);
  EXPECT_EQ(size.layer_weights, 3'145'728 + 2'359'296 + 41'287'680);
  EXPECT_EQ(size.output_weights, 233'373'696);
  EXPECT_EQ(size.weights(), 28 * size.layer_weights + 233'373'696);
}

TEST(PassSize, of_other_shapes_is_an_error_with_the_models_name) {
  for (const char* name : {"phi-3.5-moe", "deepseek-v2-lite"}) {
    try {
      pass_size(model_shape(name));
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace tandem
