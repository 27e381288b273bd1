// Multiplies a tile of packed weights with four tokens or more, for the instruction set that exact_simd.cpp is being
// compiled for.
//
// Contract: multiply_tile() as in ExactLoops. The tokens find the weights decoded in L1. With AVX-512 the first ones of
//   a larger batch multiply while the weights are decoded.
#if defined(TANDEM_PACKED_LOOPS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_PACKED_LOOPS_GEMM_INL_H_
#undef TANDEM_PACKED_LOOPS_GEMM_INL_H_
#else
#define TANDEM_PACKED_LOOPS_GEMM_INL_H_
#endif

#include <type_traits>

#include "packed/loops/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

// The register block: kT tokens x kV vectors of rows. It has 16 to 24 sums in AVX-512's 32 registers, 8 to 12 in
// AVX2's 16.
template <int kT, int kV>
struct BlockSums {
  Vec acc[kT][kV];

  // Also prefetches the sums that the next group needs, which are in L2 at hundreds of tokens (512 tokens: 0.80 of the
  // peak without, 0.86 with).
  HWY_INLINE void begin(const PartialSums& sums, int64_t token, int64_t row) {
    const int64_t first = token * kPanelRows + row;
    const float* ahead = (sums.ends_run ? sums.total : sums.run) + first + kT * kPanelRows;
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) {
        acc[s][v] = sums.begins_run ? hn::Zero(F()) : hn::Load(F(), sums.run + first + s * kPanelRows + v * kLanes);
        __builtin_prefetch(ahead + s * kPanelRows + v * kLanes);
      }
    }
  }
  HWY_INLINE void leave(const PartialSums& sums, int64_t token, int64_t row) const {
    if (!sums.ends_run) {
      TANDEM_UNROLL
      for (int s = 0; s < kT; ++s) {
        TANDEM_UNROLL
        for (int v = 0; v < kV; ++v) hn::Store(acc[s][v], F(), sums.run + (token + s) * kPanelRows + row + v * kLanes);
      }
      return;
    }
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      const float* total = sums.total + (token + s) * kPanelRows + row;
      float* to = sums.leave(token + s) + row;
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) {
        const Vec before = sums.first_run ? hn::Zero(F()) : hn::Load(F(), total + v * kLanes);
        hn::StoreU(hn::Add(before, acc[s][v]), F(), to + v * kLanes);
      }
    }
  }
  HWY_INLINE void add(const Vec (&w)[kV], const float* x, int64_t stride) {
    TANDEM_UNROLL
    for (int s = 0; s < kT; ++s) {
      const Vec value = hn::Set(F(), x[s * stride]);
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) acc[s][v] = hn::MulAdd(w[v], value, acc[s][v]);
    }
  }
};

// No sums: weights are decoded and stored, and no token multiplies.
struct NoSums {
  HWY_INLINE void begin(const PartialSums&, int64_t, int64_t) {}
  HWY_INLINE void leave(const PartialSums&, int64_t, int64_t) const {}
  template <int kV>
  HWY_INLINE void add(const Vec (&)[kV], const float*, int64_t) {}
};

// Decodes a tile, and multiplies every vector of weights with the first tokens as it is decoded and stored. These are
// the tokens of `Sums`.
template <typename Sums>
struct Decoder {
  static constexpr bool kAlone = std::is_same_v<Sums, NoSums>;
  static constexpr int kCodeVectors = 2;  // rows that are decoded together; their scales and minima stay in registers
  static constexpr int kDenseVectors = kAlone ? kPanelRows / kLanes : 2;

  const ResidentTile& weights;
  uint64_t share;               // bytes of weights.ahead that are prefetched here
  const float* HWY_RESTRICT x;  // [tokens][64]
  const PartialSums& partial;
  float* HWY_RESTRICT tile;

  template <Codes kCodes, bool kWithMin>
  void operator()() const {
    const PackedFormat format = weights.format;  // a copy: the compiler knows that no store can change it
    const int64_t count = weights.count;
    TileView views[kResidentColumns / kTileColumns];  // filled before the loop: it has no register to spare
    const TilesOfPanel panel(format, weights.panel);
    for (int64_t k = 0; k < count; k += kTileColumns)
      views[k / kTileColumns] = panel.at((weights.column + k) / kTileColumns);
    for (int64_t row = 0; row < kPanelRows; row += kCodeVectors * kLanes) {
      Sums sums;
      sums.begin(partial, 0, row);
      for (int64_t k = 0; k < count; k += kTileColumns) {
        decode_codes<kCodeVectors, false, kCodes, kWithMin>(format, views[k / kTileColumns], row,
                                                            [&](int64_t at, const Vec(&w)[kCodeVectors])
                                                                HWY_ATTR { use(sums, k + at, row, w); });
      }
      sums.leave(partial, 0, row);
    }
  }

  template <PackedKind kKind, bool kHalves>
  void operator()() const {
    for (int64_t row = 0; row < kPanelRows; row += kDenseVectors * kLanes) {
      Sums sums;
      sums.begin(partial, 0, row);
      decode_dense<kDenseVectors, false, kKind, kHalves>(weights.panel, weights.column, weights.count, row,
                                                         [&](int64_t k, const Vec(&w)[kDenseVectors])
                                                             HWY_ATTR { use(sums, k, row, w); });
      sums.leave(partial, 0, row);
    }
  }

  template <int kV>
  HWY_INLINE void use(Sums& sums, int64_t k, int64_t row, const Vec (&w)[kV]) const {
    if constexpr (!kAlone) {
      const auto weight =
          static_cast<uint64_t>(row * kResidentColumns + k * kV * kLanes);  // position among the tile's kPanelRows x 64
      __builtin_prefetch(weights.ahead + weight * share / (kPanelRows * kResidentColumns));
    }
    TANDEM_UNROLL
    for (int v = 0; v < kV; ++v) hn::Store(w[v], F(), tile + k * kPanelRows + row + v * kLanes);
    sums.add(w, x + k, kResidentColumns);
  }
};

// Sizes of the groups of later tokens: sixes, as many as leave a rest of whole fours. With AVX-512 six tokens x 64 rows
// load ten vectors for 24 multiply-adds, and eight x 32 rows load ten for 16. An Intel core then reaches 0.87 and 0.80
// of its peak from L1. With AVX2 six x 16 load eight for 12, and four x 16 load six for 8.
constexpr int kWide = 6, kNarrow = 4;

// Vectors of rows beside kT tokens. One or two tokens take more rows with AVX2, because eight chains hide the latency
// of a multiply-add.
template <int kT>
constexpr int kStreamVectors = HWY_TARGET == HWY_AVX3 ? 4
                               : kT == 1              ? 8
                               : kT <= 3              ? 4
                                                      : 2;

// Streams kT tokens, from `token` on, past the decoded tile.
template <int kT>
HWY_INLINE void stream_tokens(const float* HWY_RESTRICT tile, int64_t count, const TileInput& input,
                              const PartialSums& partial, int64_t token) {
  constexpr int kV = kStreamVectors<kT>;
  const int64_t stride = input.stride;
  const float* HWY_RESTRICT x = input.x + token * stride;
  for (int64_t row = 0; row < kPanelRows; row += kV * kLanes) {
    BlockSums<kT, kV> sums;
    sums.begin(partial, token, row);
    for (int64_t k = 0; k < count; ++k) {
      Vec w[kV];
      TANDEM_UNROLL
      for (int v = 0; v < kV; ++v) w[v] = hn::LoadU(F(), tile + k * kPanelRows + row + v * kLanes);
      sums.add(w, x + k, stride);
    }
    sums.leave(partial, token, row);
  }
}

// The last group takes all tokens that are left, when they are six or fewer. Seven go as five and two: one token alone,
// or three, have too few chains to hide the latency of a multiply-add.
int64_t group_of(int64_t left) {
  if (left <= kWide) return left;
  if (left == 7) return 5;
  return left % kNarrow == 0 && left % kWide != 0 ? kNarrow : kWide;
}

template <int kMost = kWide>
void stream_group(int64_t tokens, const float* tile, int64_t count, const TileInput& input, const PartialSums& sums,
                  int64_t token) {
  if (tokens == kMost) return stream_tokens<kMost>(tile, count, input, sums, token);
  if constexpr (kMost > 1) stream_group<kMost - 1>(tokens, tile, count, input, sums, token);
}

template <typename Sums>
void decode(const ResidentTile& weights, uint64_t share, const float* x, const PartialSums& sums, float* tile) {
  const Decoder<Sums> decoder{weights, share, x, sums, tile};
  weights.format.dense() ? with_dense(weights.format.kind, weights.halves, decoder)
                         : with_codes(weights.format, decoder);
}

// The tokens that multiply while the tile is decoded: as many as have registers beside the decoder. Its loads,
// conversions and stores run on ports that the multiply-adds leave free. A separate decoding loop took 5 % of the time
// with AVX-512. With AVX2 the decoder of 4-bit codes leaves no ports free: alone it is 1.0 to 1.3 times as fast (Zen 3,
// 5 to 32 tokens).
constexpr int kBeside = HWY_TARGET == HWY_AVX3 ? 8 : 4;
bool takes_tokens_beside(const PackedFormat& format, int64_t tokens) {
  return tokens >= kBeside && (HWY_TARGET == HWY_AVX3 || format.kind != PackedKind::i4);
}

// Their slice lies together, so that the decoder needs one pointer for all of them.
const float* together(const TileInput& input, int64_t count, float* slice) {
  if (input.stride == kResidentColumns) return input.x;
  for (int64_t s = 0; s < kBeside; ++s) {
    int64_t k = 0;
    for (; k + kLanes <= count; k += kLanes)
      hn::Store(hn::LoadU(F(), input.x + s * input.stride + k), F(), slice + s * kResidentColumns + k);
    for (; k < count; ++k) slice[s * kResidentColumns + k] = input.x[s * input.stride + k];
  }
  return slice;
}

// f32 weights need no decoding. Copied to the tile they are still faster for few tokens, because the decoder prefetches
// them column by column.
constexpr int64_t kEnoughToReadInPlace = 32;

// Prefetches the next bytes in equal shares, one for each group of tokens: a single burst would delay this tile's
// own loads.
void multiply_tile(const ResidentTile& weights, const TileInput& input, const PartialSums& sums, float* tile) {
  const auto fetched = [&](int64_t count) {
    return weights.ahead_bytes * static_cast<uint64_t>(count) / static_cast<uint64_t>(input.tokens);
  };
  const float* columns = tile;
  int64_t token = 0;
  if (weights.format.kind == PackedKind::f32 && !weights.halves && input.tokens >= kEnoughToReadInPlace) {
    columns = reinterpret_cast<const float*>(weights.panel) + weights.column * kPanelRows;
  } else if (!takes_tokens_beside(weights.format, input.tokens)) {
    decode<NoSums>(weights, 0, nullptr, sums, tile);
  } else {
    alignas(64) float slice[kBeside * kResidentColumns];
    decode<BlockSums<kBeside, 2>>(weights, fetched(kBeside), together(input, weights.count, slice), sums, tile);
    token = kBeside;
  }
  while (token < input.tokens) {
    const int64_t now = group_of(input.tokens - token);
    for (uint64_t byte = fetched(token); byte < fetched(token + now); byte += 64)
      __builtin_prefetch(weights.ahead + byte);
    stream_group(now, columns, weights.count, input, sums, token);
    token += now;
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
