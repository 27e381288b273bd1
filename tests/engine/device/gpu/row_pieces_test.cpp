// Weights in pieces of rows: the layout, the bytes that are rearranged once, and who reads them so.
#include "engine/device/gpu/row_pieces.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/device/gpu/lower_support.h"
#include "sync/pool.h"

namespace tandem::gpu {
namespace {

using Parts = std::vector<std::pair<size_t, size_t>>;

Parts added(RearrangedBytes& bytes, size_t begin, size_t end) {
  Parts parts;
  for (const auto& part : bytes.add(begin, end)) parts.emplace_back(part.begin, part.end);
  return parts;
}

TEST(RearrangedBytes, are_each_named_once) {
  RearrangedBytes bytes;
  EXPECT_EQ(added(bytes, 100, 200), (Parts{{100, 200}}));
  EXPECT_EQ(added(bytes, 100, 200), Parts{});
  EXPECT_EQ(added(bytes, 120, 180), Parts{});
  EXPECT_EQ(added(bytes, 300, 400), (Parts{{300, 400}}));
  EXPECT_EQ(added(bytes, 50, 500), (Parts{{50, 100}, {200, 300}, {400, 500}}));
  EXPECT_EQ(added(bytes, 0, 600), (Parts{{0, 50}, {500, 600}}));
  bytes.clear();
  EXPECT_EQ(added(bytes, 0, 10), (Parts{{0, 10}}));
}

// A panel of 64 rows and 32 columns of 4-bit codes behind 128 bytes of scales. Code (r, c) is (r + c) % 16.
TEST(RowPieces, of_4_bit_codes_hold_the_columns_of_a_row_in_order) {
  const PackedFormat format{PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8};
  std::vector<std::byte> panel(panel_bytes(format, 32), std::byte{0xAB});
  const auto code = [](int64_t r, int64_t c) { return static_cast<unsigned>((r + c) % 16); };
  for (int64_t r = 0; r < 64; ++r) {
    for (int64_t c = 0; c < 32; c += 2)
      panel[static_cast<size_t>(128 + c / 2 * 64 + i4_byte(r))] = std::byte(code(r, c) | code(r, c + 1) << 4);
  }
  rearrange(format, 32, 1, panel.data());
  EXPECT_EQ(panel[127], std::byte{0xAB}) << "a scale";
  for (int64_t r = 0; r < 64; ++r) {
    for (int64_t c = 0; c < 32; c += 2)
      ASSERT_EQ(panel[static_cast<size_t>(128 + r * 16 + c / 2)], std::byte(code(r, c) | code(r, c + 1) << 4));
  }
}

// Words of 8-bit codes alternate between even and odd columns, as words of activations do.
TEST(RowPieces, of_8_bit_codes_have_the_order_of_the_activations) {
  const PackedFormat format{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0};
  std::vector<std::byte> panel(panel_bytes(format, 32));
  for (int64_t r = 0; r < 64; ++r) {
    for (int64_t c = 0; c < 32; ++c) panel[static_cast<size_t>(128 + c * 64 + r)] = std::byte(r == 5 ? c : 99);
  }
  rearrange(format, 32, 1, panel.data());
  const uint8_t first[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(panel[128 + 5 * 16 + i], std::byte{first[i]});
    EXPECT_EQ(panel[128 + 1024 + 5 * 16 + i], std::byte(first[i] + 16));
  }
}

TEST(RowPieces, of_halves_hold_eight_columns) {
  const PackedFormat format{PackedKind::f16, ScaleKind::none, MinKind::none, 0, 0};
  std::vector<uint16_t> panel(64 * 16);
  for (size_t c = 0; c < 16; ++c) {
    for (size_t r = 0; r < 64; ++r) panel[c * 64 + r] = static_cast<uint16_t>(1000 * c + r);
  }
  rearrange(format, 16, 1, reinterpret_cast<std::byte*>(panel.data()));
  for (size_t c = 0; c < 16; ++c) {
    for (size_t r = 0; r < 64; ++r) ASSERT_EQ(panel[c / 8 * 512 + r * 8 + c % 8], 1000 * c + r);
  }
  EXPECT_TRUE(fits_row_pieces(format, 24));
  EXPECT_FALSE(fits_row_pieces(format, 20)) << "a piece would have columns of two blocks";
}

class RowPieceRanges : public ::testing::Test {
 protected:
  LoweringContext card() const {
    LoweringContext context;
    context.family = KernelFamily::simt;
    context.has_row_pieces = [](const sync::Slot* slot) {
      return slot == nullptr || slot->use() == sync::SlotUse::weights;
    };
    return context;
  }
  const PackedFormat format_{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0};
  sync::Pool pool_;
  sync::Slot& weights_ = pool_.acquire(size_t{1} << 20, sync::SlotUse::weights, "weights");
  sync::Slot& others_ = pool_.acquire(size_t{1} << 20, sync::SlotUse::activations, "experts that move");
};

TEST_F(RowPieceRanges, are_whole_matrices_whatever_rows_are_multiplied) {
  MatMul op;
  op.S = 1;
  op.K = 64;
  op.row_begin = 64;
  op.row_end = 128;
  op.w = {format_, 200, 64, {&weights_, 4096}};
  op.x_stride = 64;
  op.y_stride = 200;
  const std::vector<PanelRange> ranges = row_piece_ranges({"product", op}, card());
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].panels, 4);
  EXPECT_EQ(ranges[0].begin(), 4096U);
  EXPECT_EQ(ranges[0].end(), 4096 + 4 * panel_bytes(format_, 64));
  op.w.data = {&others_, 0};
  EXPECT_TRUE(row_piece_ranges({"product", op}, card()).empty()) << "who moves experts writes panels";
  op.w.data = {&weights_, 0};
  EXPECT_TRUE(row_piece_ranges({"product", op}, {}).empty()) << "a processor reads panels";
}

// Stacks of experts that interleave: a range for each matrix.
TEST_F(RowPieceRanges, of_a_stack_leave_out_what_lies_between) {
  GroupedMatMul op;
  op.S = 1;
  op.slots = 2;
  op.w = {format_, 3, 64, 64, {&weights_, 0}, 3 * panel_bytes(format_, 64)};
  const std::vector<PanelRange> ranges = row_piece_ranges({"experts", op}, card());
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[2].begin(), 6 * panel_bytes(format_, 64));
  EXPECT_EQ(ranges[2].panels, 1);
  op.w.pitch_bytes = 0;
  EXPECT_EQ(row_piece_ranges({"experts", op}, card()).size(), 1U);
}

TEST_F(RowPieceRanges, are_cut_to_the_reach_of_an_argument) {
  LoweringContext context = card();
  context.max_buffer_bytes = static_cast<int64_t>(2 * panel_bytes(format_, 64)) + 1;
  Embed op;
  op.S = 1;
  op.H = 64;
  op.w = {format_, 5 * 64, 64, {&weights_, 0}};
  const std::vector<PanelRange> ranges = row_piece_ranges({"lookup", op}, context);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[1].begin(), ranges[0].end());
  EXPECT_EQ(ranges[2].panels, 1);
}

}  // namespace
}  // namespace tandem::gpu
