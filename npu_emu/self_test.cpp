#include "npu_emu/self_test.h"

#include <algorithm>
#include <vector>

#include "npu_emu/number_format.h"

namespace tandem::npu_emu {

// A case in which rounding the product first gives another result. Products of two halves are exact in f32, so the
// weight must be a decoded one: w = fma(1, 1, 2^-20) = 1 + 2^-20. The first column leaves the sum -(1 + 2^-10), and
// the activation is a = 1 + 2^-10. Fused, the result is 2^-20 + 2^-30; a product that is first rounded to 24 bits
// loses the 2^-30.
bool fma_is_fused(const ExactLoops& loops) {
  constexpr PackedFormat kFormat{PackedKind::i4, ScaleKind::half, MinKind::explicit_, 16, 0};
  std::vector<uint16_t> panel(panel_bytes(kFormat, kTileColumns) / 2);
  std::fill_n(panel.begin(), kPanelRows, float_to_half(0));                          // scale of columns 0..15
  std::fill_n(panel.begin() + kPanelRows, kPanelRows, float_to_half(1));             // scale of columns 16..31
  std::fill_n(panel.begin() + 2 * kPanelRows, kPanelRows, float_to_half(-1));        // minimum of columns 0..15
  std::fill_n(panel.begin() + 3 * kPanelRows, kPanelRows, float_to_half(0x1p-20f));  // minimum of columns 16..31
  std::fill(panel.begin() + 4 * kPanelRows, panel.end(), uint16_t{0x1111});          // every code is 1
  float x[kTileColumns] = {};
  x[0] = x[16] = 1 + 0x1p-10f;
  alignas(64) float sums[kPanelRows];
  loops.gemv_panel(kFormat, true, reinterpret_cast<const std::byte*>(panel.data()), kTileColumns, x, kTileColumns, 1,
                   sums);
  return std::all_of(sums, sums + kPanelRows, [](float sum) { return sum == 0x1p-20f + 0x1p-30f; });
}

}  // namespace tandem::npu_emu
