// Weights that a card copies and keeps in pieces of rows (engine/device/gpu/row_pieces.h): they are rearranged once
// for all operators that read them, and anew with other weights in the same slot.
#include <numeric>

#include "tests/engine/device/gpu/gpu_bench.h"

namespace tandem::testing {
namespace {

std::vector<Target> cards() {
  std::vector<Target> cards;
  for (const Target& target : gpu_targets())
    if (target.force_copies && target.family == "simt") cards.push_back(target);
  return cards;
}

class CardWeights : public GpuBench {
 protected:
  static constexpr int64_t kRows = 130, kColumns = 96, kTokens = 9;

  // A table of small integers in the slot at `at`.
  PackedMatrix table(const Operand& at, int seed) const {
    const PackedFormat format{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0};
    for (int64_t tile = 0; tile < panel_count(kRows) * kColumns / kTileColumns; ++tile) {
      std::byte* to = at.as<std::byte>() + static_cast<size_t>(tile) * tile_bytes(format);
      std::fill_n(reinterpret_cast<uint16_t*>(to), kPanelRows, float_to_half(1));
      for (int64_t i = 0; i < kPanelRows * kTileColumns; ++i)
        to[2 * kPanelRows + i] = static_cast<std::byte>((seed + tile * 5 + i * 3) % 17);
    }
    return {format, kRows, kColumns, at};
  }
  void expect_products(const PackedMatrix& w, int64_t S) {
    MatMul op;
    op.S = S, op.K = op.x_stride = kColumns, op.row_end = op.y_stride = w.rows, op.w = w;
    op.x = take(static_cast<size_t>(S * kColumns) * sizeof(float), "x");
    op.y = take(static_cast<size_t>(S * w.rows) * sizeof(float), "y");
    for (int64_t i = 0; i < S * kColumns; ++i) op.x.as<float>()[i] = static_cast<float>(i % 7 - 3);
    run({"product", op});
    std::vector<float> row(kColumns);
    for (int64_t n = 0; n < w.rows; ++n) {
      decode_packed_row(w.format, w.data.as<std::byte>(), kColumns, n, row.data());
      for (int64_t s = 0; s < S; ++s)
        ASSERT_EQ(op.y.as<float>()[s * w.rows + n],
                  std::inner_product(row.begin(), row.end(), op.x.as<float>() + s * kColumns, 0.0f))
            << "row " << n << " of token " << s;
    }
  }
  void expect_lookup(const PackedMatrix& w, int32_t id) {
    Embed op;
    op.S = 1, op.H = kColumns, op.w = w;
    op.ids = take(sizeof(int32_t), "ids");
    op.y = take(kColumns * sizeof(float), "y");
    *op.ids.as<int32_t>() = id;
    run({"lookup", op});
    std::vector<float> row(kColumns);
    decode_packed_row(w.format, w.data.as<std::byte>(), kColumns, id, row.data());
    EXPECT_EQ(std::vector<float>(op.y.as<float>(), op.y.as<float>() + kColumns), row);
  }
  sync::Slot& slot() {
    const PackedFormat format{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0};
    return acquire(packed_bytes(format, kRows, kColumns), sync::SlotUse::weights, "table");
  }
  // The matrix without its first panel.
  static PackedMatrix behind_a_panel(const PackedMatrix& w) {
    return {w.format, w.rows - kPanelRows, w.columns, w.data.advanced(panel_bytes(w.format, w.columns))};
  }
};

TEST_P(CardWeights, are_the_same_for_lookups_and_for_products_of_few_and_many_tokens) {
  const PackedMatrix w = table({&slot(), 0}, 1);
  for (const int64_t tokens : {int64_t{1}, kTokens}) expect_products(w, tokens);
  expect_lookup(w, 77);
}

TEST_P(CardWeights, of_a_part_and_of_the_whole_are_rearranged_once) {
  const PackedMatrix first = table({&slot(), 0}, 2), second = table({&slot(), 0}, 3);
  expect_products(behind_a_panel(first), 1);
  expect_products(first, 1);
  expect_products(second, 1);
  expect_products(behind_a_panel(second), 2);
}

TEST_P(CardWeights, are_rearranged_anew_in_a_slot_that_is_used_again) {
  sync::Pool& pool = bench_.pool;
  sync::Slot& used = slot();
  expect_products(table({&used, 0}, 4), 1);
  const size_t bytes = used.size_bytes();
  pool.release(used);
  ASSERT_EQ(&pool.acquire(bytes, sync::SlotUse::weights, "other weights"), &used);
  expect_products(table({&used, 0}, 5), 1);
}

INSTANTIATE_TEST_SUITE_P(Cards, CardWeights, ::testing::ValuesIn(cards()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tandem::testing
