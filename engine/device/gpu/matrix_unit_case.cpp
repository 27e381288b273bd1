#include "engine/device/gpu/matrix_unit_case.h"

#include <bit>
#include <cstring>

#include "engine/device/gpu/row_pieces.h"
#include "packed/half.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kTokens = MatrixUnitCase::kTokens, kColumns = MatrixUnitCase::kColumns;

// A panel whose codes take all values, with scales that are not powers of two.
std::vector<std::byte> made_panel(const PackedFormat& format) {
  std::vector<std::byte> panel(panel_bytes(format, kColumns));
  uint32_t state = 1;
  for (std::byte& byte : panel) byte = static_cast<std::byte>((state = state * 1664525U + 1013904223U) >> 24);
  for (int64_t tile = 0; tile < kColumns / kTileColumns; ++tile) {
    const uint16_t* scales = tile_view(format, panel.data(), tile).scale;
    const size_t at = static_cast<size_t>(reinterpret_cast<const std::byte*>(scales) - panel.data());
    for (int64_t r = 0; r < kPanelRows; ++r) {
      const uint16_t scale = float_to_half(0.001f * static_cast<float>(1 + (r * 7 + tile * 3) % 29));
      std::memcpy(panel.data() + at + static_cast<size_t>(r) * sizeof scale, &scale, sizeof scale);
    }
  }
  return panel;
}

std::vector<ActBlock> made_codes() {
  std::vector<float> x(kColumns);
  std::vector<ActBlock> blocks(static_cast<size_t>(kTokens * kColumns / kActGroup));
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t k = 0; k < kColumns; ++k)
      x[static_cast<size_t>(k)] = static_cast<float>((token * 31 + k * 17) % 199 - 99);
    quantise_act(x.data(), kColumns, blocks.data() + token * kColumns / kActGroup);
  }
  return blocks;
}

}  // namespace

std::array<int32_t, 6> MatrixUnitCase::sizes() {
  constexpr auto kWords = static_cast<int32_t>(kColumns / kActGroup * static_cast<int64_t>(sizeof(ActBlock) / 4));
  return {kColumns, 0, kPanelRows, kWords, kPanelRows, kTokens};
}

bool MatrixUnitCase::has_plain_bits(std::span<const float> y) const {
  if (y.size() != kSums) return false;
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t token = static_cast<int64_t>(i) / kPanelRows, row = static_cast<int64_t>(i) % kPanelRows;
    if ((token + row) % 8 != 0) continue;
    const float expected =
        act_i8_product(format, panel.data(), kColumns, row, codes.data() + token * kColumns / kActGroup);
    if (std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(y[i])) return false;
  }
  return true;
}

std::vector<MatrixUnitCase> matrix_unit_cases() {
  std::vector<MatrixUnitCase> cases;
  for (const PackedFormat& format : {PackedFormat{PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8},
                                     PackedFormat{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0}}) {
    MatrixUnitCase made{format, made_panel(format), {}, made_codes()};
    made.pieces = made.panel;
    rearrange(format, kColumns, 1, made.pieces.data());
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace tandem::gpu
