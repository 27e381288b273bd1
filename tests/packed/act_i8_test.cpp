// 8-bit activations: the rules on numbers worked out by hand, and every loop against the plain definition.
#include "packed/act_i8.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "packed/half.h"
#include "packed/loops/act_loops.h"
#include "packed/loops/aligned.h"
#include "tests/packed/random_panels.h"

namespace tandem {
namespace {

std::vector<ActBlock> quantised(const std::vector<float>& x, const ActLoops& loops = plain_act_loops()) {
  std::vector<ActBlock> blocks(x.size() / kActGroup);
  loops.quantise(x.data(), std::ssize(x), blocks.data());
  return blocks;
}
int code_at(const ActBlock& block, int64_t column) { return block.codes[act_code_at(column)]; }

TEST(ActI8, largest_magnitude_becomes_127_and_ties_go_to_the_even_code) {
  std::vector<float> x(32, 0.0F);
  x[0] = 254.0F, x[1] = -254.0F, x[2] = 3.0F, x[3] = 5.0F, x[20] = -1.0F, x[31] = 2.1F;
  const ActBlock block = quantised(x)[0];
  EXPECT_EQ(block.scale, 2.0F);
  EXPECT_EQ(code_at(block, 0), 127);
  EXPECT_EQ(code_at(block, 1), -127);
  EXPECT_EQ(code_at(block, 2), 2) << "1.5";
  EXPECT_EQ(code_at(block, 3), 2) << "2.5";
  EXPECT_EQ(code_at(block, 20), 0) << "-0.5";
  EXPECT_EQ(code_at(block, 31), 1);
  EXPECT_EQ(block.sums[0], 4);
  EXPECT_EQ(block.sums[1], 1);
}

TEST(ActI8, even_columns_of_eight_stand_in_front_of_the_odd_ones) {
  std::vector<int64_t> places;
  for (int64_t column = 8; column < 16; ++column) places.push_back(act_code_at(column));
  EXPECT_THAT(places, ::testing::ElementsAre(8, 12, 9, 13, 10, 14, 11, 15));
}

TEST(ActI8, tiny_groups_are_zeros_and_others_that_are_not_finite_say_so) {
  std::vector<float> x(96, 0.0F);
  x[5] = 0x1p-101F;
  x[40] = std::numeric_limits<float>::infinity(), x[41] = 3.0F;
  x[70] = std::numeric_limits<float>::quiet_NaN();
  for (const ActLoops* loops : all_act_loops()) {
    const std::vector<ActBlock> blocks = quantised(x, *loops);
    EXPECT_EQ(blocks[0].scale, 0.0F) << loops->name;
    for (const ActBlock& block : blocks) {
      EXPECT_TRUE(std::ranges::all_of(block.codes, [](int8_t code) { return code == 0; })) << loops->name;
      EXPECT_EQ(block.sums[0] + block.sums[1], 0) << loops->name;
    }
    EXPECT_TRUE(std::isnan(blocks[1].scale) && std::isnan(blocks[2].scale)) << loops->name;
  }
}

// Q4_1 by hand: columns 0 and 1 have the codes 3 and 5, and all others 0. The scale is 0.5, the minimum 2, and the
// activations 254 and 2.
TEST(ActI8, product_adds_scaled_sums_and_then_minima) {
  const PackedFormat format{PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0};
  std::vector<std::byte> panel(panel_bytes(format, 32));
  auto* halves = reinterpret_cast<uint16_t*>(panel.data());
  halves[0] = float_to_half(0.5F), halves[64] = float_to_half(2.0F);
  panel[256] = std::byte{0x53};
  std::vector<float> x(32, 0.0F);
  x[0] = 254.0F, x[1] = 2.0F;  // codes 127 and 1, scale 2
  const std::vector<ActBlock> blocks = quantised(x);
  // (3 * 127 + 5 * 1) * 0.5 * 2 + 2 * 2 * 128
  EXPECT_EQ(act_i8_product(format, panel.data(), 32, 0, blocks.data()), 386.0F + 512.0F);
}

TEST(ActI8, dense_weights_have_no_integers) {
  EXPECT_NE(misfit_act_i8({PackedKind::f16}), nullptr);
  EXPECT_EQ(misfit_act_i8({PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0}), nullptr);
}

TEST(ActI8, loops_quantise_alike) {
  std::mt19937 random(7);
  std::vector<float> x(32 * 64);
  for (float& value : x)
    value = std::bit_cast<float>(static_cast<uint32_t>(random()) % 0x7f800000U) * (random() % 2 ? 1.0F : -1.0F);
  for (size_t i = 0; i < x.size() / 2; ++i) x[i] = static_cast<float>(random() % 2001) / 8.0F - 125.0F;
  const std::vector<ActBlock> expected = quantised(x);
  for (const ActLoops* loops : all_act_loops()) {
    const std::vector<ActBlock> blocks = quantised(x, *loops);
    EXPECT_EQ(std::memcmp(blocks.data(), expected.data(), blocks.size() * sizeof(ActBlock)), 0) << loops->name;
  }
}

// Some counts of rounds exceed what 16-bit sums hold.
TEST(ActI8, peaks_do_the_multiply_adds_they_count) {
  for (const ActLoops* loops : all_act_loops()) {
    ASSERT_GT(loops->products_per_round, 0) << loops->name;
    for (const int64_t rounds : {1, 7, 5000})
      EXPECT_EQ(loops->peak(rounds), 6 * rounds * loops->products_per_round) << loops->name << " " << rounds;
  }
}

// Every format, with codes at both ends of a byte's range.
TEST(ActI8, loops_multiply_as_the_plain_definition_does) {
  for (const PackedFormat& format : test::all_formats()) {
    if (format.dense()) continue;
    for (const int64_t columns : {256, 768, 2304}) {  // 4, 12 and 36 tiles of 64 columns
      const std::vector<std::byte> panel = test::random_panels(format, 64, columns);
      for (const int64_t tokens : {1, 2, 3, 4, 5, 8, 9, 16, 37}) {
        std::mt19937 random(11);
        std::vector<ActBlock> x(static_cast<size_t>(tokens * columns / kActGroup));
        std::vector<float> values(static_cast<size_t>(tokens * columns));
        for (float& value : values)
          value = random() % 3 == 0 ? 2.0F : static_cast<float>(random() % 1001) / 250.0F - 2.0F;
        plain_act_loops().quantise(values.data(), std::ssize(values), x.data());
        const int rows = tokens == 5 || (tokens == 1 && columns == 768) ? 63 : 64;
        for (const ActLoops* loops : all_act_loops()) {
          std::vector<float> y(static_cast<size_t>(tokens * 64), -1.0F);
          const auto sums = aligned_array<float>(2 * tokens * 64);
          loops->multiply_panel({&format, panel.data(), tokens, columns, rows, x.data(), y.data(), 64, sums.get()});
          for (int64_t s = 0; s < tokens; ++s)
            for (int r = 0; r < 64; ++r) {
              const float expected =
                  r < rows ? act_i8_product(format, panel.data(), columns, r, x.data() + s * columns / kActGroup)
                           : -1.0F;
              const float actual = y[static_cast<size_t>(s * 64 + r)];
              ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected))
                  << loops->name << " " << to_string(format) << " K " << columns << " S " << tokens << " token " << s
                  << " row " << r << ": " << actual << " and " << expected;
            }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem
