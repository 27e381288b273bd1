// The packed layout by itself: sizes, allowed formats, and the places of a tile's parts.
#include "packed/format.h"

#include <gtest/gtest.h>

#include <vector>

#include "sync/error.h"

namespace tandem {
namespace {

TEST(PackedFormat, tells_why_columns_do_not_fit) {
  const PackedFormat half = {PackedKind::i4, ScaleKind::half, MinKind::none, 32, 0},
                     super = {PackedKind::i4, ScaleKind::super, MinKind::none, 32, 0};
  EXPECT_EQ(nullptr, misfit({PackedKind::f16}, 7));
  EXPECT_EQ(nullptr, misfit(half, 96));
  EXPECT_NE(nullptr, misfit(half, 33));
  EXPECT_NE(nullptr, misfit(super, 96));
  EXPECT_EQ(nullptr, misfit(super, 512));
  EXPECT_NE(nullptr, misfit({PackedKind::i4}, 32));
  EXPECT_NE(nullptr, misfit({PackedKind::f16, ScaleKind::half, MinKind::none, 32, 0}, 32));
  EXPECT_NE(nullptr, misfit({PackedKind::i8, ScaleKind::half, MinKind::none, 24, 0}, 96));
  EXPECT_NE(nullptr, misfit({PackedKind::f16}, 0));
  EXPECT_EQ(nullptr, misfit({PackedKind::i4, ScaleKind::half, MinKind::none, 32, 0, CodeBook::iq4}, 96));
  EXPECT_NE(nullptr, misfit({PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0, CodeBook::iq4}, 96));
  EXPECT_NE(nullptr, misfit({PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0, CodeBook::e2m1}, 96));
}

TEST(PackedFormat, a_row_length_that_does_not_fit_is_refused) {
  EXPECT_THROW(panel_bytes({PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8}, 48), Error);
  EXPECT_THROW(panel_bytes({PackedKind::i4, ScaleKind::super, MinKind::explicit_, 32}, 320), Error);
  EXPECT_THROW(panel_bytes({PackedKind::f32}, 0), Error);
}

// A panel of 512 columns consists of two panels of 256, one after the other, each with its header.
TEST(PackedFormat, tiles_of_a_second_super_block_lie_behind_the_first_with_its_header) {
  for (const MinKind min : {MinKind::none, MinKind::explicit_}) {
    for (const PackedKind kind : {PackedKind::i4, PackedKind::i8}) {
      const PackedFormat format{kind, ScaleKind::super, min, 32};
      const size_t block = panel_bytes(format, kSuperColumns);
      ASSERT_EQ(panel_bytes(format, 2 * kSuperColumns), 2 * block);
      const std::vector<std::byte> panel(2 * block);
      constexpr int64_t kTiles = kSuperColumns / kTileColumns;
      for (int64_t tile = 0; tile < kTiles; ++tile) {
        const TileView first = tile_view(format, panel.data(), tile);
        const TileView second = tile_view(format, panel.data() + block, tile);
        const TileView of_both = tile_view(format, panel.data(), kTiles + tile);
        EXPECT_NE(of_both.codes, first.codes);
        EXPECT_EQ(of_both.codes, second.codes) << tile;
        EXPECT_EQ(of_both.sub_scale, second.sub_scale) << tile;
        EXPECT_EQ(of_both.scale, second.scale) << tile;
        EXPECT_EQ(of_both.minimum, second.minimum) << tile;
      }
    }
  }
}

}  // namespace
}  // namespace tandem
