// A tile of packed weights against blocks of 8 tokens, for the instruction set that fast_simd.cpp is being compiled
// for.
//
// Contract: multiply_tile() as FastKernels says. The first tokens multiply while the weights are decoded; the others
// find them decoded in L1.
#if defined(TANDEM_NPU_EMU_SIMD_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_NPU_EMU_SIMD_GEMM_INL_H_
#undef TANDEM_NPU_EMU_SIMD_GEMM_INL_H_
#else
#define TANDEM_NPU_EMU_SIMD_GEMM_INL_H_
#endif

#include "npu_emu/simd_decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::npu_emu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

constexpr int kTokens = HWY_TARGET == HWY_AVX3 ? 8 : 4;  // in flight: with two vectors of rows 16 or 8 accumulators
constexpr int kRowVectors = 2;
constexpr int64_t kRowStep = kRowVectors * kLanes;

// The register block: kTokens tokens x kRowVectors vectors of rows.
struct BlockSums {
  Vec acc[kTokens][kRowVectors];

  // Fetches the next group's sums too, which lie in L2 at hundreds of tokens (512 tokens: 0.80 of the peak without,
  // 0.86 with).
  HWY_INLINE void begin(const float* from, bool fresh) {
    TANDEM_UNROLL
    for (int s = 0; s < kTokens; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v) {
        const float* at = from + s * kPanelRows + v * kLanes;
        acc[s][v] = fresh ? hn::Zero(F()) : hn::Load(F(), at);
        __builtin_prefetch(at + kTokens * kPanelRows);
      }
    }
  }
  HWY_INLINE void store(float* to) const {
    TANDEM_UNROLL
    for (int s = 0; s < kTokens; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v) hn::Store(acc[s][v], F(), to + s * kPanelRows + v * kLanes);
    }
  }
  HWY_INLINE void add(const Vec (&w)[kRowVectors], const float* x) {
    TANDEM_UNROLL
    for (int s = 0; s < kTokens; ++s) {
      const Vec value = hn::Set(F(), x[s * kTileColumns]);
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v) acc[s][v] = hn::MulAdd(w[v], value, acc[s][v]);
    }
  }
};

// The first kTokens tokens: every vector of weights is multiplied as it is decoded, and kept in the tile. Loads,
// conversions and stores run on ports that the multiply-adds leave free; a decoding loop of its own took 5 % of the
// time.
struct FirstTokens {
  const ResidentTile& weights;
  uint64_t share;  // bytes of weights.ahead that are fetched here
  const float* HWY_RESTRICT x;
  bool fresh;
  float* HWY_RESTRICT tile;
  float* HWY_RESTRICT acc;

  template <bool kI4, bool kWithMin>
  void operator()() const {
    const PanelFormat format = weights.format;  // of its own: no store can change it
    const int64_t count = weights.count;
    TileView views[kTileColumns / kGroupTile];  // before the loop, which has no register to spare around a call
    for (int64_t k = 0; k < count; k += kGroupTile)
      views[k / kGroupTile] = tile_view(format, weights.panel, (weights.column + k) / kGroupTile);
    for (int64_t row = 0; row < kPanelRows; row += kRowStep) {
      BlockSums sums;
      sums.begin(acc + row, fresh);
      for (int64_t k = 0; k < count; k += kGroupTile) {
        decode_codes<kRowVectors, false, kI4, kWithMin>(format, views[k / kGroupTile], row,
                                                        [&](int64_t at, const Vec(&w)[kRowVectors])
                                                            HWY_ATTR { use(sums, k + at, row, w); });
      }
      sums.store(acc + row);
    }
  }

  template <Element kElement>
  void operator()() const {
    for (int64_t row = 0; row < kPanelRows; row += kRowStep) {
      BlockSums sums;
      sums.begin(acc + row, fresh);
      decode_dense<kRowVectors, false, kElement>(weights.panel, weights.column, weights.count, row,
                                                 [&](int64_t k, const Vec(&w)[kRowVectors])
                                                     HWY_ATTR { use(sums, k, row, w); });
      sums.store(acc + row);
    }
  }

  HWY_INLINE void use(BlockSums& sums, int64_t k, int64_t row, const Vec (&w)[kRowVectors]) const {
    const auto weight = static_cast<uint64_t>(row * kTileColumns + k * kRowStep);  // of the tile's kPanelRows x 64
    __builtin_prefetch(weights.ahead + weight * share / (kPanelRows * kTileColumns));
    TANDEM_UNROLL
    for (int v = 0; v < kRowVectors; ++v) hn::Store(w[v], F(), tile + k * kPanelRows + row + v * kLanes);
    sums.add(w, x + k);
  }
};

HWY_INLINE void stream_tokens(const float* HWY_RESTRICT tile, int64_t count, const float* HWY_RESTRICT x, bool fresh,
                              float* HWY_RESTRICT acc) {
  for (int64_t row = 0; row < kPanelRows; row += kRowStep) {
    BlockSums sums;
    sums.begin(acc + row, fresh);
    for (int64_t k = 0; k < count; ++k) {
      const float* from = tile + k * kPanelRows + row;
      sums.add({hn::Load(F(), from), hn::Load(F(), from + kLanes)}, x + k);
    }
    sums.store(acc + row);
  }
}

// Bytes wanted next are fetched in equal shares, one for each group of tokens: a burst of them would stand in the way
// of this tile's own loads.
void multiply_tile(const ResidentTile& weights, const float* x, int64_t blocks, bool fresh, float* tile, float* acc) {
  const int64_t groups = blocks * kTokenBlock / kTokens;
  const uint64_t share = weights.ahead_bytes / static_cast<uint64_t>(groups) + 1;
  const FirstTokens first{weights, share, x, fresh, tile, acc};
  weights.format.dense() ? with_dense(weights.format.element, first) : with_codes(weights.format, first);
  const std::byte* ahead = weights.ahead + share;
  for (int64_t group = 1; group < groups; ++group, ahead += share) {
    for (uint64_t line = 0; line < share; line += 64) __builtin_prefetch(ahead + line);
    stream_tokens(tile, weights.count, x + group * kTokens * kTileColumns, fresh, acc + group * kTokens * kPanelRows);
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
