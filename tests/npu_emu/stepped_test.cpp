// The stepped array: its data movement cycle by cycle, its bits, and its cycles against the model.
#include "npu_emu/stepped.h"

#include <gtest/gtest.h>

#include "npu_emu/cycle_model.h"
#include "npu_emu/fast_int8.h"
#include "npu_emu/fast_matmul.h"
#include "tests/npu_emu/random_product.h"

namespace tandem::npu_emu {
namespace {

constexpr Dataflow kDataflows[] = {Dataflow::weight_stationary, Dataflow::output_stationary,
                                   Dataflow::input_stationary};
// The shapes are smaller than the array, equal to it, one larger, several folds, single rows and single columns.
constexpr ProductShape kShapes[] = {{1, 1, 1},  {2, 3, 2},  {3, 4, 5}, {4, 5, 6},
                                    {7, 9, 11}, {1, 13, 8}, {9, 1, 7}, {5, 12, 1}};
constexpr ArrayShape kArrays[] = {{1, 1}, {3, 4}, {4, 3}, {5, 5}, {2, 8}};

std::string describe(const ArrayShape& array, Dataflow dataflow, const ProductShape& p) {
  return std::string(to_string(dataflow)) + " " + std::to_string(array.rows) + "x" + std::to_string(array.cols) +
         " M " + std::to_string(p.m) + " K " + std::to_string(p.k) + " N " + std::to_string(p.n);
}

TEST(SteppedArray, loads_weights_bottom_row_first_one_row_a_cycle) {
  const ArrayShape array{3, 2};
  const std::vector<float> x = {1, 1, 1}, w = {10, 11, 12, 20, 21, 22};  // w[n][k]
  std::vector<float> y(2);
  SteppedArray<FloatMac> stepped(array, Dataflow::weight_stationary, {{1, 3, 2}, x.data(), w.data(), y.data()});
  stepped.step();
  EXPECT_EQ(12, stepped.cell(0, 0).held.value);
  EXPECT_EQ(22, stepped.cell(0, 1).held.value);
  stepped.step();
  EXPECT_EQ(12, stepped.cell(1, 0).held.value);
  EXPECT_EQ(11, stepped.cell(0, 0).held.value);
  stepped.step();
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(10 + k, stepped.cell(k, 0).held.value);
}

TEST(SteppedArray, feeds_rows_skewed_and_moves_inputs_right_and_sums_down) {
  const ArrayShape array{2, 2};
  const std::vector<float> x = {1, 2, 3, 4}, w = {10, 100, 1000, 10000};  // x[s][k], w[n][k]
  std::vector<float> y(4);
  SteppedArray<FloatMac> stepped(array, Dataflow::weight_stationary, {{2, 2, 2}, x.data(), w.data(), y.data()});
  stepped.step();
  stepped.step();  // the weights are loaded
  stepped.step();  // token 0, k 0 reaches cell (0, 0) alone
  EXPECT_EQ(1 * 10, stepped.cell(0, 0).sum);
  EXPECT_FALSE(stepped.cell(1, 0).right.present());
  EXPECT_FALSE(stepped.cell(0, 1).right.present());
  stepped.step();  // one cell further: right with its input, down with its sum; token 1 follows
  EXPECT_EQ(1, stepped.cell(0, 1).right.value);
  EXPECT_EQ(1 * 1000, stepped.cell(0, 1).sum);
  EXPECT_EQ(1 * 10 + 2 * 100, stepped.cell(1, 0).sum);
  EXPECT_EQ(3 * 10, stepped.cell(0, 0).sum);
  EXPECT_EQ(210, y[0]);  // left the array at the bottom
  EXPECT_EQ(0, y[1]);
  stepped.step();
  EXPECT_EQ(1 * 1000 + 2 * 10000, y[1]);
  EXPECT_FALSE(stepped.done());
  stepped.step();  // token 1 leaves the last column: cycle index 2R + C + T - 3 = 5
  EXPECT_EQ(3 * 1000 + 4 * 10000, y[3]);
  EXPECT_TRUE(stepped.done());
  EXPECT_EQ(6, stepped.cycles());
}

TEST(SteppedArray, accumulates_in_place_when_outputs_are_stationary) {
  const std::vector<float> x = {1, 2, 3}, w = {10, 20, 30};
  std::vector<float> y(1);
  SteppedArray<FloatMac> stepped({2, 2}, Dataflow::output_stationary, {{1, 3, 1}, x.data(), w.data(), y.data()});
  stepped.step();
  EXPECT_EQ(10, stepped.cell(0, 0).sum);
  stepped.step();
  EXPECT_EQ(50, stepped.cell(0, 0).sum);
  EXPECT_EQ(0, y[0]);
  stepped.step();
  EXPECT_EQ(140, y[0]);
  EXPECT_FALSE(stepped.done());  // the wave still crosses the cells without an output
}

TEST(SteppedArray, is_not_done_a_cycle_before_the_model_says_and_done_with_it) {
  for (const Dataflow dataflow : kDataflows) {
    for (const ArrayShape& array : kArrays) {
      for (const ProductShape& shape : kShapes) {
        const std::vector<float> x(static_cast<size_t>(shape.m * shape.k), 1),
            w(static_cast<size_t>(shape.n * shape.k), 1);
        std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
        SteppedArray<FloatMac> stepped(array, dataflow, {shape, x.data(), w.data(), y.data()});
        // The model's total is an index counted from 0. After the cycles 0 .. total-1 the array is not done, and after
        // `total` it is.
        const int64_t total = count_cycles(array, dataflow, shape).cycles;
        for (int64_t cycle = 0; cycle < total; ++cycle) {
          stepped.step();
          ASSERT_FALSE(stepped.done()) << describe(array, dataflow, shape) << " cycle " << cycle;
        }
        stepped.step();
        EXPECT_TRUE(stepped.done()) << describe(array, dataflow, shape);
        EXPECT_EQ(shape.m * shape.k * shape.n, stepped.multiply_adds()) << describe(array, dataflow, shape);
        for (const float value : y) EXPECT_EQ(static_cast<float>(shape.k), value);
      }
    }
  }
}

TEST(SteppedArray, ends_each_fold_after_the_modelled_fold_cycles) {
  const ArrayShape array{3, 4};
  const ProductShape shape{5, 7, 9};
  const std::vector<float> x(35, 1), w(63, 1);
  for (const Dataflow dataflow : kDataflows) {
    std::vector<float> y(45);
    SteppedArray<FloatMac> stepped(array, dataflow, {shape, x.data(), w.data(), y.data()});
    const CycleCount count = count_cycles(array, dataflow, shape);
    for (int64_t fold = 0; fold < count.folds; ++fold) {
      for (int64_t cycle = 0; cycle < count.fold_cycles(); ++cycle) {
        ASSERT_EQ(fold, stepped.fold());
        stepped.step();
      }
    }
    EXPECT_TRUE(stepped.done());
  }
}

TEST(SteppedArray, equals_the_fast_path_bit_for_bit_in_fp16_and_int4) {
  std::mt19937 random(11);
  const PackedFormat formats[] = {{PackedKind::f16},
                                  {PackedKind::f32},
                                  {PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0},
                                  {PackedKind::i4, ScaleKind::half, MinKind::zero_point, 16, 8},
                                  {PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0}};
  for (const PackedFormat& format : formats) {
    for (const ProductShape& small : kShapes) {
      const ProductShape shape{small.m, format.dense() ? small.k : 32 * ((small.k + 7) / 8), small.n};
      const std::vector<float> x = random_halves(shape.m * shape.k, random);
      const std::vector<std::byte> panels = random_panels(format, shape.n, shape.k, random);
      const std::vector<float> w = decode_all(format, panels, shape.n, shape.k);
      std::vector<float> fast(static_cast<size_t>(shape.m * shape.n));
      fast_matmul({shape.m, shape.k, 0, shape.n, format, panels.data(), x.data(), shape.k, fast.data(), shape.n});
      for (const Dataflow dataflow : kDataflows) {
        for (const ArrayShape& array : kArrays) {
          std::vector<float> y(fast.size());
          SteppedArray<FloatMac> stepped(array, dataflow, {shape, x.data(), w.data(), y.data()});
          stepped.run();
          ASSERT_TRUE(same_bits(fast, y)) << describe(array, dataflow, shape) << " " << to_string(format);
        }
      }
    }
  }
}

TEST(SteppedArray, passes_a_negative_zero_through_idle_cells_unchanged) {
  // The one product underflows to -0. If an idle cell added its +0, the sum would be +0. Outside the array it becomes
  // +0, because it is added to a total that begins at +0.
  const std::vector<float> x = {-0x1p-14f}, w = {0x1p-149f};
  std::vector<float> y = {1};
  SteppedArray<FloatMac> stepped({3, 2}, Dataflow::weight_stationary, {{1, 1, 1}, x.data(), w.data(), y.data()});
  while (stepped.cell(2, 0).sum_index < 0) stepped.step();
  EXPECT_TRUE(std::signbit(stepped.cell(2, 0).sum));
  stepped.run();
  EXPECT_TRUE(same_bits(chain({1, 1, 1}, x, w), y));
  EXPECT_FALSE(std::signbit(y[0]));
}

// The example of docs/numbers.md: three runs, the columns 0 to 63, 64 to 127 and 128 to 159. One chain over all of them
// would stay at 2^24, because every sum 2^24 + 1 rounds back. These arrays end a run between folds, inside a fold that
// ends with the product, and inside folds that do not end with a run.
TEST(SteppedArray, takes_sums_out_where_a_run_ends_whatever_its_depth) {
  const ProductShape shape{2, 160, 3};
  const std::vector<float> w(static_cast<size_t>(shape.n * shape.k), 1);
  std::vector<float> x(static_cast<size_t>(shape.m * shape.k), 1);
  x[0] = x[160] = 0x1p24F;
  for (const Dataflow dataflow : kDataflows) {
    for (const ArrayShape& array : {ArrayShape{64, 2}, {1, 2}, {128, 2}, {200, 2}, {100, 2}, {30, 4}}) {
      std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
      SteppedArray<FloatMac> stepped(array, dataflow, {shape, x.data(), w.data(), y.data()});
      EXPECT_EQ(stepped.run(), count_cycles(array, dataflow, shape).cycles + 1) << describe(array, dataflow, shape);
      for (const float value : y) EXPECT_EQ(value, 0x1p24F + 96) << describe(array, dataflow, shape);
    }
  }
}

// 9 and 18 groups of 32 columns, and 17 tiles of 64 of which the last one has a column less: runs of one and two tiles.
TEST(SteppedArray, of_any_depth_has_the_bits_of_the_fast_path_over_many_runs) {
  std::mt19937 random(13);
  for (const int64_t columns : {9 * 32, 18 * 32, 17 * 64 - 1}) {
    const ProductShape shape{3, columns, 5};
    const std::vector<float> x = random_halves(shape.m * shape.k, random);
    const PackedFormat format{PackedKind::f16};
    const std::vector<std::byte> panels = random_panels(format, shape.n, shape.k, random);
    const std::vector<float> w = decode_all(format, panels, shape.n, shape.k);
    std::vector<float> fast(static_cast<size_t>(shape.m * shape.n));
    fast_matmul({shape.m, shape.k, 0, shape.n, format, panels.data(), x.data(), shape.k, fast.data(), shape.n});
    for (const Dataflow dataflow : kDataflows) {
      for (const ArrayShape& array : {ArrayShape{16, 4}, {64, 4}, {100, 3}, {128, 8}, {640, 2}}) {
        std::vector<float> y(fast.size());
        SteppedArray<FloatMac> stepped(array, dataflow, {shape, x.data(), w.data(), y.data()});
        EXPECT_EQ(stepped.run(), count_cycles(array, dataflow, shape).cycles + 1) << describe(array, dataflow, shape);
        ASSERT_TRUE(same_bits(fast, y)) << describe(array, dataflow, shape);
      }
    }
  }
}

TEST(SteppedArray, equals_the_fast_path_bit_for_bit_in_int8) {
  std::mt19937 random(12);
  for (const ProductShape& shape : kShapes) {
    const std::vector<int8_t> x = random_bytes(shape.m * shape.k, random), w = random_bytes(shape.n * shape.k, random);
    const std::vector<float> scale = random_halves(shape.n, random);
    std::vector<float> fast(static_cast<size_t>(shape.m * shape.n));
    fast_int8(shape, x.data(), w.data(), scale.data(), fast.data());
    for (const Dataflow dataflow : kDataflows) {
      for (const ArrayShape& array : kArrays) {
        std::vector<int32_t> sums(fast.size());
        SteppedArray<IntMac> stepped(array, dataflow, {shape, x.data(), w.data(), sums.data()});
        stepped.run();
        std::vector<float> y(fast.size());
        for (size_t i = 0; i < y.size(); ++i) y[i] = drain_int8(sums[i], scale[i % static_cast<size_t>(shape.n)]);
        ASSERT_TRUE(same_bits(fast, y)) << describe(array, dataflow, shape);
      }
    }
  }
}

}  // namespace
}  // namespace tandem::npu_emu
