// The fast path has the definition's bits with every instruction set, format, token count and number of threads.
#include "npu_emu/fast_matmul.h"

#include <gtest/gtest.h>

#include "npu_emu/self_test.h"
#include "packed/act_i8.h"
#include "tests/npu_emu/random_product.h"
#include "tests/support/scale_edges.h"

namespace tandem::npu_emu {
namespace {

constexpr float kCanary = -777.25f;

struct Problem {
  Problem(const PackedFormat& format, const ProductShape& shape, uint32_t seed)
      : format(format), shape(shape), random(seed) {
    panels = random_panels(format, shape.n, shape.k, random);
    x = std::vector<float>(static_cast<size_t>(shape.m * (shape.k + 1)));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : x) value = uniform(random);
    y.assign(static_cast<size_t>(shape.m * (shape.n + 1)), kCanary);
  }
  MatmulCall call() {
    return {shape.m, shape.k, 0, shape.n, format, panels.data(), x.data(), shape.k + 1, y.data(), shape.n + 1};
  }
  std::vector<float> expected() const {
    const std::vector<float> w = decode_all(format, panels, shape.n, shape.k);
    std::vector<float> rounded;
    for (int64_t s = 0; s < shape.m; ++s)
      for (int64_t k = 0; k < shape.k; ++k)
        rounded.push_back(round_to_half(x[static_cast<size_t>(s * (shape.k + 1) + k)]));
    const std::vector<float> dense = chain(shape, rounded, w);
    std::vector<float> result(y.size(), kCanary);
    for (int64_t s = 0; s < shape.m; ++s)
      std::copy_n(dense.begin() + s * shape.n, shape.n, result.begin() + s * (shape.n + 1));
    return result;
  }

  PackedFormat format;
  ProductShape shape;
  std::mt19937 random;
  std::vector<std::byte> panels;
  std::vector<float> x, y;
};

TEST(FastMatmul, multiplies_codes_of_activations_as_the_plain_definition_does) {
  for (const PackedFormat& format : all_formats()) {
    if (format.dense()) continue;
    for (const int64_t tokens : {1, 4, 5, 17}) {
      Problem setup(format, {tokens, 256, 70}, static_cast<uint32_t>(tokens));
      std::vector<float> expected(setup.y.size(), kCanary);
      std::vector<ActBlock> codes(256 / kActGroup);
      for (int64_t s = 0; s < tokens; ++s) {
        quantise_act(setup.x.data() + s * 257, 256, codes.data());
        for (int64_t n = 0; n < 70; ++n)
          expected[static_cast<size_t>(s * 71 + n)] =
              act_i8_product(format, setup.panels.data() + static_cast<size_t>(n / 64) * panel_bytes(format, 256), 256,
                             n % 64, codes.data());
      }
      for (const PackedLoops& loops : all_packed_loops()) {
        std::fill(setup.y.begin(), setup.y.end(), kCanary);
        MatmulCall call = setup.call();
        call.act_i8 = true;
        fast_matmul(call, loops);
        ASSERT_TRUE(same_bits(expected, setup.y))
            << to_string(loops.set()) << " " << to_string(format) << " tokens " << tokens;
      }
    }
  }
}

TEST(FastMatmul, gives_the_definitions_bits_in_every_format_on_every_instruction_set) {
  for (const PackedFormat& format : all_formats()) {
    for (const int64_t tokens : {1, 2, 3, 4, 5, 8, 9}) {
      Problem setup(format, {tokens, format.dense() ? 67 : 256, 70}, static_cast<uint32_t>(tokens));
      const std::vector<float> expected = setup.expected();
      for (const PackedLoops& loops : all_packed_loops()) {
        std::fill(setup.y.begin(), setup.y.end(), kCanary);
        fast_matmul(setup.call(), loops);
        ASSERT_TRUE(same_bits(expected, setup.y))
            << to_string(loops.set()) << " " << to_string(format) << " tokens " << tokens;
      }
    }
  }
}

// With AVX-512 the kernel offsets the codes if that is exact for all rows of a group.
TEST(FastMatmul, gives_the_definitions_bits_whatever_scales_and_minima_meet) {
  using tandem::testing::Edge;
  const Edge edges[] = {Edge::inside, Edge::below, Edge::above, Edge::anywhere};
  for (const int group : {16, 32}) {
    const PackedFormat format{PackedKind::i4, ScaleKind::half, MinKind::explicit_, group};
    for (const int64_t tokens : {1, 3, 9}) {
      Problem setup(format, {tokens, 512, 64}, static_cast<uint32_t>(tokens));
      for (int64_t tile = 0; tile < setup.shape.k / kTileColumns; ++tile) {
        const TileView view = tile_view(format, setup.panels.data(), tile);
        for (int64_t i = 0; i < format.groups() * kPanelRows; ++i) {
          // One row of each group lies at the edge, or all rows lie anywhere.
          const Edge edge = edges[tile % 4];
          const bool here = edge == Edge::anywhere || i % kPanelRows == tile * 5 % kPanelRows;
          const auto [scale, min] = tandem::testing::scale_and_min(here ? edge : Edge::inside, setup.random);
          const_cast<uint16_t*>(view.scale)[i] = scale;
          const_cast<uint16_t*>(view.minimum)[i] = min;
        }
      }
      const std::vector<float> expected = setup.expected();
      for (const PackedLoops& loops : all_packed_loops()) {
        std::fill(setup.y.begin(), setup.y.end(), kCanary);
        fast_matmul(setup.call(), loops);
        ASSERT_TRUE(same_bits(expected, setup.y))
            << to_string(loops.set()) << " group " << group << " tokens " << tokens;
      }
    }
  }
}

TEST(FastMatmul, gives_the_same_bits_however_many_tokens_go_together) {
  const PackedFormat format = {PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0};
  Problem all(format, {23, 96, 130}, 3);
  fast_matmul(all.call());
  const std::vector<float> together = all.y;
  for (const int64_t piece : {1, 2, 4, 7}) {
    std::fill(all.y.begin(), all.y.end(), kCanary);
    for (int64_t first = 0; first < 23; first += piece) {
      MatmulCall call = all.call();
      call.tokens = std::min(piece, 23 - first);
      call.x += first * call.x_stride;
      call.y += first * call.y_stride;
      fast_matmul(call);
    }
    EXPECT_TRUE(same_bits(together, all.y)) << "pieces of " << piece;
  }
}

TEST(FastMatmul, gives_the_same_bits_for_tokens_beyond_one_residency) {
  // 1100 tokens are more than can stream past a tile at once (1024). The test compares them with single tokens.
  Problem setup({PackedKind::f16}, {1100, 65, 64}, 4);
  fast_matmul(setup.call());
  const std::vector<float> expected = setup.expected();
  EXPECT_TRUE(same_bits(expected, setup.y));
}

TEST(FastMatmul, gives_the_same_bits_in_any_number_of_parts) {
  for (const int64_t tokens : {1, 6}) {
    Problem setup({PackedKind::i8, ScaleKind::super, MinKind::explicit_, 16, 0}, {tokens, 256, 450}, 5);
    const std::vector<float> expected = setup.expected();
    for (const int parts : {1, 2, 3, 8, 20}) {
      std::fill(setup.y.begin(), setup.y.end(), kCanary);
      const FastMatmul matmul;
      AlignedFloats activations;
      matmul.prepare_activations(setup.call(), activations);
      for (int part = parts - 1; part >= 0; --part) {
        AlignedFloats sums;
        matmul.multiply(setup.call(), activations, sums, part, parts);
      }
      EXPECT_TRUE(same_bits(expected, setup.y)) << parts << " parts";
    }
  }
}

TEST(FastMatmul, writes_each_part_of_a_slice_of_the_rows_and_no_others) {
  for (const int64_t tokens : {1, 6}) {
    Problem setup({PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0}, {tokens, 64, 450}, 5);
    std::vector<float> expected = setup.expected();
    MatmulCall slice = setup.call();
    slice.row_begin = 128;
    slice.row_end = 320;
    for (int64_t s = 0; s < tokens; ++s) {
      for (int64_t row = 0; row < 450; ++row)
        if (row < 128 || row >= 320) expected[static_cast<size_t>(s * slice.y_stride + row)] = kCanary;
    }
    for (const int parts : {1, 2, 3}) {
      std::fill(setup.y.begin(), setup.y.end(), kCanary);
      const FastMatmul matmul;
      AlignedFloats activations, sums;
      matmul.prepare_activations(slice, activations);
      for (int part = 0; part < parts; ++part) matmul.multiply(slice, activations, sums, part, parts);
      EXPECT_TRUE(same_bits(expected, setup.y)) << parts << " parts, " << tokens << " tokens";
    }
  }
}

TEST(FastMatmul, fuses_its_multiply_add_on_every_instruction_set) {
  ASSERT_FALSE(all_packed_loops().empty());
  EXPECT_EQ(InstructionSet::portable, all_packed_loops().back().set());
  for (const PackedLoops& loops : all_packed_loops()) EXPECT_TRUE(fma_is_fused(*loops.exact)) << to_string(loops.set());
}

}  // namespace
}  // namespace tandem::npu_emu
