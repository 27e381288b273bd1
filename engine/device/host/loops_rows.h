// Loops over one row: norm, rotation, activation, softmax. Sums are 16 lane sums (lane i takes elements i, i + 16, ...)
// and sum_lanes(); a last part of fewer than 16 elements counts as filled up with zeros.
#pragma once

#include "engine/device/host/loops_lanes.h"

namespace tandem::host {
namespace {

LANES_INLINE Lanes load_upto(const float* p, int64_t left, float fill) {
  return left >= 16 ? load(p) : load_part(p, left, fill);
}
LANES_INLINE void store_upto(float* p, Lanes v, int64_t left) { left >= 16 ? store(p, v) : store_part(p, v, left); }

void rms_norm(const NormArgs& args) {
  const int64_t width = args.width;
  Lanes squares = all(0.0f);
  for (int64_t i = 0; i < width; i += 16) {
    Lanes v = load_upto(args.x + i, width - i, 0);
    if (args.add) {
      v = v + load_upto(args.add + i, width - i, 0);
      store_upto(args.x + i, v, width - i);
    }
    squares = fma(v, v, squares);
  }
  const float inverse = 1.0f / __builtin_sqrtf(sum_lanes(squares) / static_cast<float>(width) + args.eps);
  for (int64_t i = 0; i < width; i += 16) {
    Lanes v = load_upto(args.x + i, width - i, 0) * all(inverse) *
              (load_upto(args.weight + i, width - i, 0) + all(args.weight_offset));
    if (args.round_f16) v = round_f16(v);
    store_upto(args.y + i, v, width - i);
  }
}

// A pair (a, b) becomes (fma(a, cos, -(b sin)), fma(a, sin, b cos)).
void rope(float* x, const float* turns, int64_t rot_dim, bool interleaved) {
  const int64_t pairs = rot_dim / 2;
  for (int64_t j = 0; j < pairs; ++j) {
    float& first = x[interleaved ? 2 * j : j];
    float& second = x[interleaved ? 2 * j + 1 : j + pairs];
    const float a = first, b = second, cosine = turns[2 * j], sine = turns[2 * j + 1];
    first = __builtin_fmaf(a, cosine, -(b * sine));
    second = __builtin_fmaf(a, sine, b * cosine);
  }
}

void swiglu(const float* gate, const float* up, float* y, int64_t count, bool to_f16) {
  for (int64_t i = 0; i < count; i += 16) {
    const Lanes g = load_upto(gate + i, count - i, 0);
    Lanes v = g / (all(1.0f) + exp(-g)) * load_upto(up + i, count - i, 0);
    if (to_f16) v = round_f16(v);
    store_upto(y + i, v, count - i);
  }
}

void softmax(float* x, int64_t count) {
  const float lowest = -__builtin_inff();
  Lanes top = all(lowest);
  for (int64_t i = 0; i < count; i += 16) top = larger(top, load_upto(x + i, count - i, lowest));
  const float largest = largest_lane(top);
  Lanes sums = all(0.0f);
  for (int64_t i = 0; i < count; i += 16) {
    const Lanes e = exp(load_upto(x + i, count - i, lowest) - all(largest));
    store_upto(x + i, e, count - i);
    sums = sums + e;
  }
  const float sum = sum_lanes(sums);
  for (int64_t i = 0; i < count; i += 16) store_upto(x + i, load_upto(x + i, count - i, 0) / all(sum), count - i);
}

}  // namespace
}  // namespace tandem::host
