// Multiplies a tile of packed weights with blocks of 8 tokens, for the instruction set that fast_simd.cpp is being
// compiled for.
//
// Contract: multiply_tile() as in FastKernels. The first tokens multiply while the weights are decoded; the others find
//   them decoded in L1.
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

// The register block: kT tokens x kV vectors of rows. It has 16 to 24 sums in AVX-512's 32 registers, 8 to 12 in
// AVX2's 16.
template <int kT, int kV>
struct BlockSums {
  Vec acc[kT][kV];

  // Also prefetches the next group's sums, which are in L2 at hundreds of tokens (512 tokens: 0.80 of the peak without,
  // 0.86 with).
  HWY_INLINE void begin(const float* from, bool fresh) {
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) {
        const float* at = from + s * kPanelRows + v * kLanes;
        acc[s][v] = fresh ? hn::Zero(F()) : hn::Load(F(), at);
        __builtin_prefetch(at + kT * kPanelRows);
      }
    }
  }
  HWY_INLINE void leave(const TileSums& sums, int64_t token, int64_t row) const {
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      float* to = sums.leave(token + s) + row;
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) hn::StoreU(acc[s][v], F(), to + v * kLanes);
    }
  }
  HWY_INLINE void add(const Vec (&w)[kV], const float* x) {
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      const Vec value = hn::Set(F(), x[s * kResidentColumns]);
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) acc[s][v] = hn::MulAdd(w[v], value, acc[s][v]);
    }
  }
};

constexpr int kFirstTokens = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int kFirstVectors = 2;
constexpr int64_t kFirstRows = kFirstVectors * kLanes;

// The first tokens: every vector of weights is multiplied as it is decoded, and stored in the tile. Loads, conversions
// and stores run on ports that the multiply-adds leave free. A separate decoding loop took 5 % of the time.
struct FirstTokens {
  using Sums = BlockSums<kFirstTokens, kFirstVectors>;
  const ResidentTile& weights;
  uint64_t share;  // bytes of weights.ahead that are prefetched here
  const float* HWY_RESTRICT x;
  const TileSums& partial;
  float* HWY_RESTRICT tile;

  template <bool kI4, bool kWithMin>
  void operator()() const {
    const PackedFormat format = weights.format;  // a copy: the compiler knows that no store can change it
    const int64_t count = weights.count;
    TileView views[kResidentColumns / kTileColumns];  // filled before the loop: it has no register to spare for a call
    for (int64_t k = 0; k < count; k += kTileColumns)
      views[k / kTileColumns] = tile_view(format, weights.panel, (weights.column + k) / kTileColumns);
    for (int64_t row = 0; row < kPanelRows; row += kFirstRows) {
      Sums sums;
      sums.begin(partial.acc + row, partial.fresh);
      for (int64_t k = 0; k < count; k += kTileColumns) {
        decode_codes<kFirstVectors, false, kI4, kWithMin>(format, views[k / kTileColumns], row,
                                                          [&](int64_t at, const Vec(&w)[kFirstVectors])
                                                              HWY_ATTR { use(sums, k + at, row, w); });
      }
      sums.leave(partial, 0, row);
    }
  }

  template <PackedKind kKind>
  void operator()() const {
    for (int64_t row = 0; row < kPanelRows; row += kFirstRows) {
      Sums sums;
      sums.begin(partial.acc + row, partial.fresh);
      decode_dense<kFirstVectors, false, kKind>(weights.panel, weights.column, weights.count, row,
                                                [&](int64_t k, const Vec(&w)[kFirstVectors])
                                                    HWY_ATTR { use(sums, k, row, w); });
      sums.leave(partial, 0, row);
    }
  }

  HWY_INLINE void use(Sums& sums, int64_t k, int64_t row, const Vec (&w)[kFirstVectors]) const {
    const auto weight =
        static_cast<uint64_t>(row * kResidentColumns + k * kFirstRows);  // position among the tile's kPanelRows x 64
    __builtin_prefetch(weights.ahead + weight * share / (kPanelRows * kResidentColumns));
    TANDEM_UNROLL
    for (int v = 0; v < kFirstVectors; ++v) hn::Store(w[v], F(), tile + k * kPanelRows + row + v * kLanes);
    sums.add(w, x + k);
  }
};

// Sizes of the groups of later tokens: sixes, as many as leave a rest of whole fours. With AVX-512 six tokens x 64 rows
// load ten vectors for 24 multiply-adds, and eight x 32 rows load ten for 16. An Intel core then reaches 0.87 and 0.80
// of its peak from L1. With AVX2 six x 16 load eight for 12, and four x 16 load six for 8.
constexpr int kWide = 6, kNarrow = 4;
constexpr int kStreamVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

// Streams kT tokens, from `token` on, past the decoded tile.
template <int kT>
HWY_INLINE void stream_tokens(const float* HWY_RESTRICT tile, int64_t count, const float* HWY_RESTRICT x,
                              const TileSums& partial, int64_t token) {
  x += token * kResidentColumns;
  for (int64_t row = 0; row < kPanelRows; row += kStreamVectors * kLanes) {
    BlockSums<kT, kStreamVectors> sums;
    sums.begin(partial.acc + token * kPanelRows + row, partial.fresh);
    for (int64_t k = 0; k < count; ++k) {
      Vec w[kStreamVectors];
      TANDEM_UNROLL
      for (int v = 0; v < kStreamVectors; ++v) w[v] = hn::Load(F(), tile + k * kPanelRows + row + v * kLanes);
      sums.add(w, x + k);
    }
    sums.leave(partial, token, row);
  }
}

int64_t group_of(int64_t left) { return left % kNarrow == 0 && left % kWide != 0 ? kNarrow : kWide; }

// Prefetches the next bytes in equal shares, one for each group of tokens: a single burst would delay this tile's
// own loads.
void multiply_tile(const ResidentTile& weights, const float* x, int64_t blocks, const TileSums& sums, float* tile) {
  const int64_t tokens = blocks * kTokenBlock;
  const auto fetched = [&](int64_t count) {
    return weights.ahead_bytes * static_cast<uint64_t>(count) / static_cast<uint64_t>(tokens);
  };
  const FirstTokens first{weights, fetched(kFirstTokens), x, sums, tile};
  weights.format.dense() ? with_dense(weights.format.kind, first) : with_codes(weights.format, first);
  for (int64_t token = kFirstTokens; token < tokens;) {
    const int64_t next = token + group_of(tokens - token);
    for (uint64_t byte = fetched(token); byte < fetched(next); byte += 64) __builtin_prefetch(weights.ahead + byte);
    next - token == kWide ? stream_tokens<kWide>(tile, weights.count, x, sums, token)
                          : stream_tokens<kNarrow>(tile, weights.count, x, sums, token);
    token = next;
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
