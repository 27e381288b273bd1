// The inner loops of the fast functional path, one table per instruction set; the best one is chosen at run time.
//
// Contract
//   Every table computes the same bits: acc = fma(w, x, acc) in f32, k ascending, one chain for each output.
//   Threads: pure functions over the caller's memory. Pointers to scratch (tile, x, acc) are 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packed/format.h"

namespace tandem::npu_emu {

inline constexpr int64_t kResidentColumns =
    64;  // k extent of a resident tile; with 64 rows it is 16 KiB of f32, a third of L1
inline constexpr int64_t kTokenBlock = 8;  // activations are padded to whole blocks of tokens
inline constexpr int64_t kGemvTokens = 4;  // most tokens that read packed weights directly (4 x 4 zmm accumulators)

// The part of a panel that a residency keeps in the array: columns [column, column + count), count <= 64, column a
// multiple of 64.
struct ResidentTile {
  const PackedFormat& format;
  const std::byte* panel;
  int64_t column, count;
  const std::byte* ahead;  // bytes that are needed next: prefetched while this tile multiplies, never read
  uint64_t ahead_bytes;
};

// The place of a residency's partial sums: they enter and leave in acc[blocks*8][64]. Finished chains leave
// straight to y, so that nothing is copied.
struct TileSums {
  float* acc = nullptr;
  bool fresh = false;  // the chains begin at zero, and no sums enter
  float* y = nullptr;  // row 0 of the panel; any alignment
  int64_t y_stride = 0;
  int64_t y_tokens = 0;  // the sums of this many tokens leave to y

  float* leave(int64_t token) const { return token < y_tokens ? y + token * y_stride : acc + token * kPanelRows; }
};

struct FastKernels {
  const char* name;  // "avx512", "avx2", "plain"

  // One residency: decodes the weights to the scratch tile[64][64], and streams x[blocks][8][64] past them.
  void (*multiply_tile)(const ResidentTile& weights, const float* x, int64_t blocks, const TileSums& sums, float* tile);
  // Multiplies a whole panel with 1..4 tokens and reads the weights packed: acc[tokens][64] = chain over all K
  // from zero.
  void (*gemv_panel)(const PackedFormat& format, const std::byte* panel, int64_t columns, const float* x,
                     int64_t x_stride, int64_t tokens, float* acc);
  // out[i] = in[i] rounded to f16.
  void (*round_half)(const float* in, float* out, int64_t count);
};

const FastKernels& plain_kernels();                 // std::fma, any processor
std::span<const FastKernels* const> all_kernels();  // those this processor can run, best first
const FastKernels& best_kernels();

}  // namespace tandem::npu_emu
