#include "npu_emu/fast_matmul.h"

#include <algorithm>

#include "packed/loops/matmul.h"

namespace tandem::npu_emu {

// Grows and never shrinks. The old content is lost when it grows.
float* AlignedFloats::reserve(int64_t count) {
  if (count > capacity_) {
    data_ = aligned_array<float>(count);
    capacity_ = count;
  }
  return data_.get();
}

// Layout of activations: few tokens are dense rows [S][K]. Many tokens are [K/64][S][64], so that the slice of one tile
// is contiguous. With act_i8 the layout is [S][K/32] blocks of codes.
void FastMatmul::prepare_activations(const MatmulCall& call, AlignedFloats& activations) const {
  const int64_t S = call.tokens, K = call.columns;
  if (call.act_i8) {
    const int64_t groups = K / kActGroup;
    auto* codes = reinterpret_cast<ActBlock*>(
        activations.reserve(S * groups * static_cast<int64_t>(sizeof(ActBlock) / sizeof(float))));
    for (int64_t s = 0; s < S; ++s) loops_.act->quantise(call.x + s * call.x_stride, K, codes + s * groups);
    return;
  }
  const bool few = reads_rows(call);
  const int64_t columns = few ? K : kResidentColumns;  // of a slice
  float* out = activations.reserve(few ? S * K : resident_tiles(K) * S * kResidentColumns);
  for (int64_t first = 0; first < K; first += columns)
    for (int64_t s = 0; s < S; ++s, out += columns)
      loops_.exact->round_half(call.x + s * call.x_stride + first, out, std::min(columns, K - first));
}

// Parts are whole panels, so no two threads write the same output and no sum is divided.
void FastMatmul::multiply(const MatmulCall& call, const AlignedFloats& activations, AlignedFloats& sums, int part,
                          int parts) const {
  const int64_t begin = call.row_begin / kPanelRows, panels = panel_count(call.row_end) - begin;
  const int64_t first = begin + panels * part / parts, last = begin + panels * (part + 1) / parts;
  if (first == last) return;
  const int64_t S = call.tokens, K = call.columns;
  PackedProduct product{call.format, call.panels, S, K, call.row_end, call.y, call.y_stride};
  product.halves = true;
  if (call.act_i8) {
    product.codes = reinterpret_cast<const ActBlock*>(activations.data());
  } else {
    product.x = reads_rows(call) ? TokenLayout{activations.data(), K}
                                 : TokenLayout{activations.data(), kResidentColumns, S * kResidentColumns};
  }
  multiply_panels(loops_, product, first, last, sums.reserve(scratch_floats(S)));
}

// The whole product on this thread. A team of threads calls the two steps by itself.
void fast_matmul(const MatmulCall& call, const PackedLoops& loops) {
  const FastMatmul matmul(loops);
  AlignedFloats activations, sums;
  matmul.prepare_activations(call, activations);
  matmul.multiply(call, activations, sums, 0, 1);
}

}  // namespace tandem::npu_emu
