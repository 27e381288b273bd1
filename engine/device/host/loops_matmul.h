// The matmul chain over one panel. A tile of 32 columns is decoded once and then added to the sums of all tokens. This
// takes four vectors of rows and several tokens at a time. Between tiles the sums are in memory, which changes no bit.
#pragma once

#include "engine/device/host/loops_lanes.h"

namespace tandem::host {
namespace {

constexpr int kRows = 64, kTile = 32, kVectors = kRows / 16;

// Scale and minimum of one group of a tile, decoded for all 64 rows.
struct TileGroup {
  alignas(64) float scale[kRows], min[kRows];
};

// header: the super block's halves, or null. groups: groups in a tile, 1 or 2. g: the group to read.
LANES_INLINE void read_group(const PackedFormat& format, const uint8_t* header, const uint8_t* tile, int groups, int g,
                             TileGroup& to) {
  const bool with_min = format.min == MinKind::explicit_;
  for (int j = 0; j < kVectors; ++j) {
    const int at = g * kRows + 16 * j, mins = groups * kRows;
    Lanes scale, min = all(0.0f);
    if (format.scale == ScaleKind::half) {
      scale = from_halves(reinterpret_cast<const uint16_t*>(tile) + at);
      if (with_min) min = from_halves(reinterpret_cast<const uint16_t*>(tile) + mins + at);
    } else {
      const auto* halves = reinterpret_cast<const uint16_t*>(header) + 16 * j;
      scale = from_halves(halves) * to_float(from_signed(reinterpret_cast<const int8_t*>(tile) + at));
      if (with_min) min = -(from_halves(halves + kRows) * to_float(from_bytes(tile + mins + at)));
    }
    if (format.min == MinKind::zero_point) min = -(all(static_cast<float>(format.zero_point)) * scale);
    store(to.scale + 16 * j, scale);
    store(to.min + 16 * j, min);
  }
}

LANES_INLINE void decode_i4(const uint8_t* quants, const TileGroup* groups, int group, float* w) {
  for (int k = 0; k < kTile; k += 2) {
    const TileGroup& of = groups[k / group];
    const Words words = load_words(quants + k / 2 * kRows);  // byte j: 16 rows (i4_byte)
    for (int j = 0; j < kVectors; ++j) {
      const Lanes scale = load(of.scale + 16 * j), min = load(of.min + 16 * j);
      store(w + k * kRows + 16 * j, fma(nibbles(words, 8 * j), scale, min));
      store(w + (k + 1) * kRows + 16 * j, fma(nibbles(words, 8 * j + 4), scale, min));
    }
  }
}

LANES_INLINE void decode_i8(const uint8_t* quants, const TileGroup* groups, int group, bool with_min, float* w) {
  for (int k = 0; k < kTile; ++k) {
    const TileGroup& of = groups[k / group];
    for (int j = 0; j < kVectors; ++j) {
      const Lanes q = to_float(from_signed(reinterpret_cast<const int8_t*>(quants) + k * kRows + 16 * j));
      const Lanes scale = load(of.scale + 16 * j);
      store(w + k * kRows + 16 * j, with_min ? fma(q, scale, load(of.min + 16 * j)) : q * scale);
    }
  }
}

// The position of a walk over the tiles of a panel.
struct TileReader {
  const PackedFormat& format;
  const uint8_t* at;      // the next tile
  const uint8_t* header;  // header of the super block, with ScaleKind::super
  size_t tile_size, header_size, quant_size;
};

// Returns columns [k0, k0 + count) of all rows: [count][64]. It decodes them into w, except f32 panels, which are used
// in place.
LANES_INLINE const float* next_tile(TileReader& self, int64_t k0, int count, float* w) {
  const PackedFormat& format = self.format;
  if (format.kind == PackedKind::f32) return reinterpret_cast<const float*>(self.at) + k0 * kRows;
  if (format.scale == ScaleKind::none) {
    const auto* halves = reinterpret_cast<const uint16_t*>(self.at) + k0 * kRows;
    for (int i = 0; i < count * kRows; i += 16)
      store(w + i, format.kind == PackedKind::f16 ? from_halves(halves + i) : from_bf16(halves + i));
    return w;
  }
  if (self.header_size > 0 && k0 % kSuperColumns == 0) {
    self.header = self.at;
    self.at += self.header_size;
  }
  TileGroup groups[2];
  const int group_count = kTile / format.group;
  for (int g = 0; g < group_count; ++g) read_group(format, self.header, self.at, group_count, g, groups[g]);
  const uint8_t* quants = self.at + self.tile_size - self.quant_size;
  if (format.kind == PackedKind::i4)
    decode_i4(quants, groups, format.group, w);
  else
    decode_i8(quants, groups, format.group, format.min != MinKind::none, w);
  self.at += self.tile_size;
  return w;
}

// Adds `count` columns to sums[t, r], for `tokens` tokens and `vectors` vectors of rows, which are held in registers.
template <int tokens, int vectors>
LANES_INLINE void accumulate(const float* w, int count, const float* x, int64_t x_stride, float* sums) {
  Lanes acc[tokens][vectors];
#pragma GCC unroll 8
  for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) acc[t][j] = load(sums + t * kRows + 16 * j);
  for (int k = 0; k < count; ++k) {
#pragma GCC unroll 8
    for (int t = 0; t < tokens; ++t) {
      const Lanes a = all(x[t * x_stride + k]);
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) acc[t][j] = fma(load(w + k * kRows + 16 * j), a, acc[t][j]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) store(sums + t * kRows + 16 * j, acc[t][j]);
}

#if defined(__AVX512F__)
constexpr int kTokens = 6, kRegisterVectors = 4;  // 24 of 32 registers
#else
constexpr int kTokens = 2, kRegisterVectors = 2;  // 8 of 16; a vector is two registers
#endif

// The same for the remaining tokens, at most `most`, together. A single token has too few chains to hide the latency
// of fma.
template <int most>
LANES_INLINE void take_in_rest(int tokens, const float* w, int count, const float* x, int64_t x_stride, float* sums) {
  if (tokens == most) return accumulate<most, kRegisterVectors>(w, count, x, x_stride, sums);
  if constexpr (most > 1) take_in_rest<most - 1>(tokens, w, count, x, x_stride, sums);
}

void matmul_panel(const PanelArgs& args) {
  const PackedFormat& format = *args.format;
  const auto* panel = reinterpret_cast<const uint8_t*>(args.panel);
  TileReader reader{format,
                    panel,
                    panel,
                    tile_bytes(format),
                    super_header_bytes(format),
                    format.kind == PackedKind::i4 ? size_t{1024} : size_t{2048}};
  alignas(64) float w[kTile * kRows];
  std::memset(args.sums, 0, static_cast<size_t>(args.S) * kRows * sizeof(float));
  for (int64_t k0 = 0; k0 < args.K; k0 += kTile) {
    const int count = static_cast<int>(args.K - k0 < kTile ? args.K - k0 : kTile);
    const float* columns = next_tile(reader, k0, count, w);
    for (int r = 0; r < kRows; r += 16 * kRegisterVectors) {
      const float* x = args.x + k0;
      float* sums = args.sums + r;
      int64_t s = 0;
      for (; s + kTokens <= args.S; s += kTokens)
        accumulate<kTokens, kRegisterVectors>(columns + r, count, x + s * args.x_stride, args.x_stride,
                                              sums + s * kRows);
      take_in_rest<kTokens - 1>(static_cast<int>(args.S - s), columns + r, count, x + s * args.x_stride, args.x_stride,
                                sums + s * kRows);
    }
  }
  for (int64_t s = 0; s < args.S; ++s)
    std::memcpy(args.y + s * args.y_stride, args.sums + s * kRows, static_cast<size_t>(args.rows) * sizeof(float));
}

}  // namespace
}  // namespace tandem::host
