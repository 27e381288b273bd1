#include "npu_emu/memory_model.h"

#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem::npu_emu {
namespace {

constexpr ArrayShape kArray{32, 32};
// Round numbers for each part: a clock of 1 MHz, streams of 1 MB/s, fills of 0.5 MB/s.
constexpr ChipMemory kMemory{2, 8192, 0.5e6, 1e6};

TEST(memory_model, extents_below_the_array_cost_what_the_array_costs) {
  const TiledCost whole = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {32, 32, 32});
  for (const ProductShape& product : {ProductShape{1, 1, 1}, {31, 17, 2}, {5, 32, 31}}) {
    EXPECT_EQ(tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, product).seconds, whole.seconds);
  }
  EXPECT_GT(tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {33, 32, 32}).seconds, whole.seconds);
}

// X[96, 64] is stationary and W[128, 64] streams, on 32 x 32 cells:
//   folds = (64/32) * (96/32) = 6, two arrays take 3 each; one fold is 32 load + 128 stream + 31 skew + 31 drain = 222
//   cycles, so 3 * 222 - 1 = 665 cycles.
//   A column of X is 64 * 2 = 128 bytes; 8192 bytes hold 64 columns: 2 blocks for 96 columns.
//   Streamed: 2 blocks * 128 rows * 64 columns * 2 bytes = 32768 bytes. Filled: 96 * 128 = 12288 bytes.
//   seconds = max(665 us, 32768 us) + 12288 / 0.5 us = 57344 us.
TEST(memory_model, a_product_is_counted_block_by_block) {
  const TiledCost cost = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {96, 64, 128});
  EXPECT_EQ(cost.cycles, 665);
  EXPECT_EQ(cost.block_columns, 64);
  EXPECT_EQ(cost.blocks, 2);
  EXPECT_DOUBLE_EQ(cost.stream_bytes, 32768);
  EXPECT_DOUBLE_EQ(cost.fill_bytes, 12288);
  EXPECT_DOUBLE_EQ(cost.seconds, 32768e-6 + 24576e-6);
}

// X[96, 32] has three folds. One of the two arrays runs two of them, one after the other.
TEST(memory_model, a_fold_is_not_shared_among_arrays) {
  const TiledCost cost = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {96, 32, 128});
  EXPECT_EQ(cost.cycles, 2 * 222 - 1);
}

// 9000 bytes hold 70 columns of 128 bytes. The array has 32 columns side by side.
TEST(memory_model, a_block_is_of_whole_array_columns) {
  ChipMemory memory = kMemory;
  memory.stationary_bytes = 9000;
  EXPECT_EQ(tiled_cost(kArray, 1e6, memory, Dataflow::input_stationary, {96, 64, 128}).block_columns, 64);
}

// The same operands exchanged: W[128, 64] is stationary, and X[96, 64] streams. 128 columns of 128 bytes are 2 blocks,
// so X passes twice: 2 * 96 * 64 * 2 = 24576 bytes. Filled are 128 * 128 = 16384 bytes: 24576 + 32768 us.
TEST(memory_model, the_order_of_the_operands_matters) {
  const TiledCost cost = tiled_cost(kArray, 1e6, kMemory, Dataflow::weight_stationary, {96, 64, 128});
  EXPECT_EQ(cost.blocks, 2);
  EXPECT_DOUBLE_EQ(cost.stream_bytes, 24576);
  EXPECT_DOUBLE_EQ(cost.seconds, 24576e-6 + 32768e-6);
}

// Twice the columns of K halve the block. At 256 bytes a column 32 columns fit, so there are 3 blocks instead of 2. The
// stream is 3 * 128 * 128 * 2 = 98304 bytes: three times as much for twice the work.
TEST(memory_model, a_longer_reduction_makes_more_blocks) {
  const TiledCost cost = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {96, 128, 128});
  EXPECT_EQ(cost.block_columns, 32);
  EXPECT_EQ(cost.blocks, 3);
  EXPECT_DOUBLE_EQ(cost.stream_bytes, 98304);
}

TEST(memory_model, a_block_has_a_whole_array_column_even_where_it_does_not_fit) {
  const ChipMemory tiny{1, 1, 1e6, 1e6};
  EXPECT_EQ(tiled_cost(kArray, 1e6, tiny, Dataflow::input_stationary, {64, 64, 32}).block_columns, 32);
}

TEST(memory_model, narrower_streamed_elements_shorten_the_stream_alone) {
  const TiledCost wide = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {32, 64, 128}, {2, 2});
  const TiledCost narrow = tiled_cost(kArray, 1e6, kMemory, Dataflow::input_stationary, {32, 64, 128}, {2, 1});
  EXPECT_DOUBLE_EQ(narrow.stream_bytes, wide.stream_bytes / 2);
  EXPECT_DOUBLE_EQ(narrow.fill_seconds, wide.fill_seconds);
  EXPECT_EQ(narrow.cycles, wide.cycles);
}

TEST(memory_model, stationary_outputs_are_refused) {
  EXPECT_THROW(tiled_cost(kArray, 1e6, kMemory, Dataflow::output_stationary, {1, 1, 1}), Error);
}

}  // namespace
}  // namespace tandem::npu_emu
