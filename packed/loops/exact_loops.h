// The loops that multiply packed weights with f32 activations, a table for each instruction set. AVX-512 has two.
//
// Contract
//   Every table computes the same bits in f32 (packed/row_product.h). A run of columns is one chain from zero,
//   acc = fma(w, x, acc) with k ascending, and runs are added in ascending order. w is the value of packed/decode.h. A
//   call may ask for halves: dense weights that are wider than a half are then rounded to one, as the NPU's array holds
//   them. Threads: pure functions over the caller's memory. Pointers to scratch (tile, sums) are 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packed/format.h"
#include "packed/loops/instruction_set.h"
#include "packed/runs.h"
#include "packed/tiles.h"

namespace tandem {

// k extent of a resident tile; with 64 rows it is 16 KiB of f32, a third of L1. No run ends inside a tile.
inline constexpr int64_t kResidentColumns = kRunTileColumns;
inline constexpr int64_t kGemvTokens = 16;  // no loops read packed weights directly for more tokens

inline int64_t resident_tiles(int64_t columns) { return (columns + kResidentColumns - 1) / kResidentColumns; }

// The part of a panel that is decoded at a time: columns [column, column + count), count <= 64, column a multiple
// of 64.
struct ResidentTile {
  const PackedFormat& format;
  const std::byte* panel;
  int64_t column, count;
  bool halves;             // dense weights are rounded to halves
  const std::byte* ahead;  // bytes that are needed next: prefetched while this tile multiplies, never read
  uint64_t ahead_bytes;
};

// The activations that pass a tile: x[token * stride + k], k relative to the tile's first column.
struct TileInput {
  const float* x;
  int64_t stride, tokens;
};

// The places of a tile's sums: run[tokens][64] of the run that it lies in, and total[tokens][64] of the runs before. At
// a run's end its sums join the totals. The last ones leave straight to y, so that nothing is copied.
struct PartialSums {
  float *run = nullptr, *total = nullptr;
  bool begins_run = false;  // the chains begin at zero, and no sums enter
  bool ends_run = false;
  bool first_run = false;  // the totals are zero, and memory has none yet
  float* y = nullptr;      // row 0 of the panel, any alignment; nullptr: the totals stay in `total`
  int64_t y_stride = 0;

  float* leave(int64_t token) const { return y ? y + token * y_stride : total + token * kPanelRows; }
};

struct ExactLoops {
  InstructionSet set;
  int64_t dense_tokens, code_tokens;  // most tokens of gemv_panel(), by kind of format; at most kGemvTokens

  // Decodes the weights to the scratch tile[64][64], and streams the tokens past them.
  void (*multiply_tile)(const ResidentTile& weights, const TileInput& input, const PartialSums& sums, float* tile);
  // Multiplies a whole panel with 1..gemv_tokens() tokens and reads the weights packed, to total[tokens][64].
  void (*gemv_panel)(const PackedFormat& format, bool halves, const std::byte* panel, int64_t columns, const float* x,
                     int64_t x_stride, int64_t tokens, float* total);
  // out[i] = in[i] rounded to f16.
  void (*round_half)(const float* in, float* out, int64_t count);

  int64_t gemv_tokens(const PackedFormat& format) const { return format.dense() ? dense_tokens : code_tokens; }
};

const ExactLoops& plain_exact_loops();                 // std::fma, any processor
std::span<const ExactLoops* const> all_exact_loops();  // those this processor can run, best first

}  // namespace tandem
