// Matmuls over packed weights give the bits of their definition on every instruction set and in every token layout.
#include "packed/loops/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "packed/decode.h"
#include "packed/half.h"
#include "packed/loops/aligned.h"
#include "tests/packed/random_panels.h"

namespace tandem {
namespace {

constexpr int64_t kRows = 70;  // a whole panel and a part of one
constexpr float kUntouched = -777.25F;

struct Case {
  PackedFormat format;
  int64_t tokens, columns;
  bool halves;
  std::vector<std::byte> panels;
  std::vector<float> x;  // [tokens][columns]

  Case(const PackedFormat& packed, int64_t S, int64_t K, bool rounds)
      : format(packed), tokens(S), columns(K), halves(rounds) {
    std::mt19937 random(static_cast<uint32_t>(S * 1000 + K));
    panels = test::random_panels(format, kRows, K);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < S * K; ++i) x.push_back(uniform(random));
  }
  float weight(int64_t row, int64_t k) const {
    const std::byte* panel = panels.data() + static_cast<size_t>(row / kPanelRows) * panel_bytes(format, columns);
    const float value = decode_weight(format, panel, k, row % kPanelRows);
    return halves && format.dense() ? round_to_half(value) : value;
  }
  // A chain for each run of an output, and the runs in ascending order: y[tokens][kRows + 1], whose last column no
  // product may touch.
  std::vector<float> expected() const {
    std::vector<float> w, y;
    for (int64_t n = 0; n < kRows; ++n)
      for (int64_t k = 0; k < columns; ++k) w.push_back(weight(n, k));
    for (int64_t s = 0; s < tokens; ++s) {
      for (int64_t n = 0; n < kRows; ++n) {
        float total = 0;
        for (int64_t run = 0; run < 16; ++run) {
          const int64_t tiles = (columns + 63) / 64;
          float sum = 0;
          for (int64_t k = tiles * run / 16 * 64; k < std::min(columns, tiles * (run + 1) / 16 * 64); ++k)
            sum = std::fma(w[static_cast<size_t>(n * columns + k)], x[static_cast<size_t>(s * columns + k)], sum);
          total += sum;
        }
        y.push_back(total);
      }
      y.push_back(kUntouched);
    }
    return y;
  }
  std::vector<float> found(const PackedLoops& loops, const TokenLayout& layout) const {
    std::vector<float> y(static_cast<size_t>(tokens * (kRows + 1)), kUntouched);
    PackedProduct product{format, panels.data(), tokens, columns, kRows, y.data(), kRows + 1};
    product.x = layout;
    product.halves = halves;
    const auto scratch = aligned_array<float>(scratch_floats(tokens));
    multiply_panels(loops, product, 0, 2, scratch.get());
    return y;
  }
  // The tokens as tiles read them best: [columns / 64][tokens][64].
  std::vector<float> tiled() const {
    std::vector<float> to(static_cast<size_t>(resident_tiles(columns) * tokens * kResidentColumns), std::nanf(""));
    for (int64_t s = 0; s < tokens; ++s)
      for (int64_t k = 0; k < columns; ++k)
        to[static_cast<size_t>((k / kResidentColumns * tokens + s) * kResidentColumns + k % kResidentColumns)] =
            x[static_cast<size_t>(s * columns + k)];
    return to;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string name_of(const Case& product, const PackedLoops& loops) {
  return std::string(to_string(loops.set())) + " " + to_string(product.format) + " tokens " +
         std::to_string(product.tokens) + (product.halves ? " in halves" : "");
}

TEST(PackedMatmul, gives_the_definitions_bits_for_every_number_of_tokens) {
  for (const PackedFormat& format : test::all_formats())
    for (const bool halves : {false, true}) {
      if (halves && !format.dense()) continue;  // codes are never rounded
      for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 17, 23}) {
        const Case product(format, tokens, format.dense() ? 131 : 256, halves);
        const std::vector<float> expected = product.expected(), tiled = product.tiled();
        for (const PackedLoops& loops : all_packed_loops()) {
          EXPECT_TRUE(same_bits(expected, product.found(loops, {product.x.data(), product.columns})))
              << name_of(product, loops);
          if (tokens <= loops.exact->gemv_tokens(format)) continue;
          const TokenLayout layout{tiled.data(), kResidentColumns, tokens * kResidentColumns};
          EXPECT_TRUE(same_bits(expected, product.found(loops, layout))) << name_of(product, loops) << " in tiles";
        }
      }
    }
}

// 9 and 18 tiles of 64 columns: runs of no, one and two tiles, and a last tile that is not whole.
TEST(PackedMatmul, adds_runs_of_any_number_of_tiles_in_their_order) {
  for (const PackedFormat& format : test::all_formats())
    for (const int64_t tiles : {9, 18}) {
      const int64_t unit = format.dense() ? 1 : format.super_blocks() ? kSuperColumns : kTileColumns;
      const int64_t columns = (tiles * 64 - 21 + unit - 1) / unit * unit;
      for (const int64_t tokens : {1, 2, 3, 4, 5, 12}) {
        const Case product(format, tokens, columns, false);
        const std::vector<float> expected = product.expected();
        for (const PackedLoops& loops : all_packed_loops())
          EXPECT_TRUE(same_bits(expected, product.found(loops, {product.x.data(), product.columns})))
              << name_of(product, loops) << " columns " << columns;
      }
    }
}

// Groups of tokens take turns within runs of four tiles, and the sums of a group wait in memory.
TEST(PackedMatmul, goes_on_with_a_run_that_several_groups_of_tokens_share) {
  const PackedFormat f16{PackedKind::f16}, q4_0{PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8},
      q8_0{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0};
  for (const PackedFormat& format : {f16, q4_0, q8_0})
    for (const int64_t tokens : {7, 16}) {
      const Case product(format, tokens, 16 * 192 + 32, false);
      const std::vector<float> expected = product.expected();
      for (const PackedLoops& loops : all_packed_loops())
        EXPECT_TRUE(same_bits(expected, product.found(loops, {product.x.data(), product.columns})))
            << name_of(product, loops);
    }
}

// More tokens than the partial sums of one residency: chunks of about the same size follow each other.
TEST(PackedMatmul, goes_through_many_tokens_in_chunks) {
  const Case product({PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8}, 1025, 96, false);
  const std::vector<float> expected = product.expected();
  for (const PackedLoops& loops : all_packed_loops())
    EXPECT_TRUE(same_bits(expected, product.found(loops, {product.x.data(), product.columns})))
        << name_of(product, loops);
}

TEST(PackedLoops, are_listed_best_first_and_the_portable_ones_run_everywhere) {
  EXPECT_EQ(InstructionSet::portable, all_packed_loops().back().set());
  EXPECT_EQ(best_packed_loops().set(), all_packed_loops().front().set());
  for (const PackedLoops& loops : all_packed_loops()) {
    EXPECT_EQ(loops.set(), find_packed_loops(loops.set())->set());
    EXPECT_LE(loops.act->set, loops.set()) << loops.act->name;
  }
}

}  // namespace
}  // namespace tandem
