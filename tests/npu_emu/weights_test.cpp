// What a weight is, by itself: every faster path is compared with decode_weight(), so it must not be wrong with them.
#include "npu_emu/weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "npu_emu/number_format.h"

namespace tandem::npu_emu {
namespace {

// Weight (0, 0) of a dense panel of one column.
template <typename T>
float first_weight(Element element, T value) {
  std::vector<std::byte> panel(kPanelRows * sizeof(T));
  std::memcpy(panel.data(), &value, sizeof value);
  return decode_weight({element}, panel.data(), 0, 0);
}

// The array multiplies 16-bit floats with 10 bits behind the point: 1 + 2^-11 lies between two of them and goes to the
// even one; bf16 reaches further than they do.
TEST(Weights, that_are_wider_than_the_arrays_floats_are_rounded_to_them) {
  EXPECT_EQ(first_weight(Element::f32, 1 + 0x1p-11f), 1.0f);
  EXPECT_EQ(first_weight(Element::f32, 1 + 0x1.8p-10f), 1 + 0x1p-9f);
  const auto bf16 = [](float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); };
  EXPECT_EQ(first_weight(Element::bf16, bf16(0x1.5p-26f)), 0.0f) << "less than half of the least, 2^-24";
  EXPECT_EQ(first_weight(Element::bf16, bf16(0x1p20f)), std::bit_cast<float>(0x7f800000)) << "beyond the largest";
  EXPECT_EQ(first_weight(Element::bf16, bf16(1.5f)), 1.5f);
}

// A panel of 512 columns is one of 256 after another, header and all.
TEST(Weights, of_a_second_super_block_lie_behind_the_first_with_its_header) {
  for (const Minimum minimum : {Minimum::none, Minimum::stored}) {
    for (const Element element : {Element::i4, Element::i8}) {
      const PanelFormat format{element, Scales::super, minimum, 32};
      const size_t block = panel_bytes(format, kSuperColumns);
      ASSERT_EQ(panel_bytes(format, 2 * kSuperColumns), 2 * block);
      const std::vector<std::byte> panel(2 * block);
      constexpr int64_t kTiles = kSuperColumns / kGroupTile;
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
}  // namespace tandem::npu_emu
