// Loops over one row: norm, rotation, activation, softmax. Sums are 64 lane sums (lane i takes elements i, i + 64, ...)
// and then the tree of sum_row(). A last part of fewer than 64 elements counts as filled up with zeros.
#pragma once

#include "engine/device/host/loops_lanes.h"

namespace tandem::host {
namespace {

LANES_INLINE Lanes load_upto(const float* p, int64_t left, float fill) {
  return left >= 16 ? load(p) : load_part(p, left, fill);
}
LANES_INLINE void store_upto(float* p, Lanes v, int64_t left) { left >= 16 ? store(p, v) : store_part(p, v, left); }

// The first pass adds the residual and sums the squares. A centred norm sums the values first and the squares in a
// second pass. The last pass writes y.
void rms_norm(const NormArgs& given) {
  const NormArgs args = given;  // a copy: through a reference, a store to y would force its fields to be read again
  const int64_t width = args.width;
  RowSums sums = no_sums();  // sums of squares; for a centred norm, sums of values first
  each_part_of_row(
      width, sums, [&](int64_t i, Lanes & sum) __attribute__((always_inline)) {
        Lanes v = load_upto(args.x + i, width - i, 0);
        if (args.add) {
          v = fma(all(args.add_scale), load_upto(args.add + i, width - i, 0), v);
          store_upto(args.x + i, v, width - i);
        }
        sum = args.centred ? sum + v : fma(v, v, sum);
      });
  const float mean = args.centred ? sum_row(sums) / static_cast<float>(width) : 0;
  if (args.centred) {
    sums = no_sums();
    each_part_of_row(
        width, sums, [&](int64_t i, Lanes & sum) __attribute__((always_inline)) {
          const Lanes v = load_upto(args.x + i, width - i, mean) - all(mean);
          sum = fma(v, v, sum);
        });
  }
  const float mean_square = sum_row(sums) / static_cast<float>(width) + args.eps;
  const bool overflows = mean_square > __FLT_MAX__;
  const float inverse = overflows ? __builtin_nanf("") : 1.0f / __builtin_sqrtf(mean_square);
  for (int64_t i = 0; i < width; i += 16) {
    Lanes v = load_upto(args.x + i, width - i, 0);
    if (args.centred) v = v - all(mean);
    v = v * all(inverse);
    const Lanes weight = load_upto(args.weight + i, width - i, 0) + all(args.weight_offset);
    v = args.bias ? fma(v, weight, load_upto(args.bias + i, width - i, 0)) : v * weight;
    if (args.round_f16) v = round_f16(v);
    store_upto(args.y + i, v, width - i);
  }
}

// Rotates a pair (a, b) to (fma(a, cos, -(b sin)), fma(a, sin, b cos)).
void rope_neighbours(const RopeArgs& args) {
  for (int64_t h = 0; h < args.heads; ++h) {
    float* x = args.x + h * args.head_dim;
    for (int64_t j = 0; j < args.rot_dim; j += 2) {
      const float a = x[j], b = x[j + 1], cosine = args.turns[j], sine = args.turns[j + 1];
      x[j] = __builtin_fmaf(a, cosine, -(b * sine));
      x[j + 1] = __builtin_fmaf(a, sine, b * cosine);
    }
  }
}

// Rotates 16 pairs of every head at once. The table's pairs of cos and sin are separated once for all heads.
void rope_halves(const RopeArgs& args) {
  const int64_t pairs = args.rot_dim / 2;
  for (int64_t j = 0; j < pairs; j += 16) {
    const int64_t left = pairs - j < 16 ? pairs - j : 16;
    float cosines[16] = {}, sines[16] = {};
    for (int64_t n = 0; n < left; ++n) {
      cosines[n] = args.turns[2 * (j + n)];
      sines[n] = args.turns[2 * (j + n) + 1];
    }
    const Lanes cosine = load(cosines), sine = load(sines);
    for (int64_t h = 0; h < args.heads; ++h) {
      float *first = args.x + h * args.head_dim + j, *second = first + pairs;
      const Lanes a = load_upto(first, left, 0), b = load_upto(second, left, 0);
      store_upto(first, fma(a, cosine, -(b * sine)), left);
      store_upto(second, fma(a, sine, b * cosine), left);
    }
  }
}

void rope(const RopeArgs& args) { args.interleaved ? rope_neighbours(args) : rope_halves(args); }

// 2 u of GELU's tanh form, for 1 + tanh(u) = 2 / (1 + exp(-2 u)).
LANES_INLINE Lanes slope_of_gelu(Lanes g) { return fma(all(0.044715f), g * g * g, g) * all(1.5957691216f); }

LANES_INLINE Lanes activated(Activation activation, Lanes g) {
  if (activation == Activation::squared_relu) return g * select(g > all(0.0f), g, all(0.0f));
  const Lanes t = activation == Activation::gelu_tanh      ? slope_of_gelu(g)
                  : activation == Activation::clamped_silu ? g * all(1.702f)
                                                           : g;
  return g / (all(1.0f) + exp(-t));
}

void glu(const GluArgs& given) {
  const GluArgs args = given;
  for (int64_t i = 0; i < args.count; i += 16) {
    const int64_t left = args.count - i;
    const bool clamps = args.activation == Activation::clamped_silu;
    Lanes g = load_upto(args.gate + i, left, 0);
    if (clamps) g = select(g > all(7.0f), all(7.0f), g);
    Lanes v = activated(args.activation, g);
    if (args.up != nullptr) {
      Lanes u = load_upto(args.up + i, left, 0);
      if (clamps) u = select(u > all(7.0f), all(7.0f), select(all(-7.0f) > u, all(-7.0f), u)) + all(1.0f);
      v = v * u;
    }
    if (args.round_f16) v = round_f16(v);
    store_upto(args.y + i, v, left);
  }
}

void scale(float* x, int64_t count, float factor, float cap) {
  for (int64_t i = 0; i < count; i += 16) {
    Lanes v = load_upto(x + i, count - i, 0) * all(factor);
    if (cap > 0) v = soft_cap(v, cap);
    store_upto(x + i, v, count - i);
  }
}

void to_halves(const float* from, uint16_t* to, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) store_halves(to + i, load(from + i));
  for (; i < count; ++i) to[i] = float_to_half(from[i]);
}

void softmax(float* x, int64_t count) {
  const float lowest = -__builtin_inff();
  Lanes top = all(lowest);
  for (int64_t i = 0; i < count; i += 16) top = larger(top, load_upto(x + i, count - i, lowest));
  const float largest = largest_lane(top);
  RowSums sums = no_sums();
  each_part_of_row(
      count, sums, [&](int64_t i, Lanes & part) __attribute__((always_inline)) {
        const Lanes e = exp(load_upto(x + i, count - i, lowest) - all(largest));
        store_upto(x + i, e, count - i);
        part = part + e;
      });
  const float sum = sum_row(sums);
  for (int64_t i = 0; i < count; i += 16) store_upto(x + i, load_upto(x + i, count - i, 0) / all(sum), count - i);
}

}  // namespace
}  // namespace tandem::host
