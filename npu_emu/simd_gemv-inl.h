// A panel of packed weights against 1 to 4 tokens, for the instruction set that fast_simd.cpp is being compiled for.
//
// Contract: gemv_panel() as FastKernels says. Sums of a tile stay in registers; between tiles they lie in the caller's
// scratch.
#if defined(TANDEM_NPU_EMU_SIMD_GEMV_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_NPU_EMU_SIMD_GEMV_INL_H_
#undef TANDEM_NPU_EMU_SIMD_GEMV_INL_H_
#else
#define TANDEM_NPU_EMU_SIMD_GEMV_INL_H_
#endif

#include <type_traits>

#include "npu_emu/simd_decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::npu_emu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

constexpr int kVectors = 4;                    // accumulators of one token: 64 rows (AVX-512) or 32 (AVX2)
constexpr int64_t kChunk = kVectors * kLanes;  // rows handled together
constexpr int64_t kChunks = kPanelRows / kChunk;

// The running sums of `kCount` tokens x kChunk rows; kept in registers while a run of columns streams past.
template <int kCount>
struct Sums {
  Vec acc[kCount][kVectors];

  HWY_INLINE void load(const float* from) {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[s][v] = hn::Load(F(), from + s * kPanelRows + v * kLanes);
    }
  }
  HWY_INLINE void store(float* to) const {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::Store(acc[s][v], F(), to + s * kPanelRows + v * kLanes);
    }
  }
  HWY_INLINE void add(int v, Vec w, const float* x, int64_t x_stride) {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) acc[s][v] = hn::MulAdd(w, hn::Set(F(), x[s * x_stride]), acc[s][v]);
  }
  HWY_INLINE void add(const Vec (&w)[kVectors], const float* x, int64_t x_stride) {
    TANDEM_UNROLL
    for (int v = 0; v < kVectors; ++v) add(v, w[v], x, x_stride);
  }
};

struct GemvArguments {
  const PanelFormat& format;
  const std::byte* panel;
  int64_t columns;
  const float* x;
  int64_t x_stride;
  float* acc;
};

// Four bits a weight, straight from memory: the hottest loop of decoding. One vector load takes the codes of a column
// pair for all rows of the chunk; seen as 32-bit lanes, byte v of lane j belongs to row 4j + v. A nibble is masked
// where it stands and converted as q * 2^shift, and the scale carries 2^-shift: powers of two are exact, so fma(q,
// scale, min) rounds as written. That leaves two cheap operations a weight beside the two multiply-adds, on pipes of
// their own (L2-resident 1536 x 576: 26 GB/s, 21.8 when each byte is widened first). Sums stay in this row order until
// the panel is done.
static_assert(kVectors == 4);
struct Spread {
  Vec low[kVectors], high[kVectors], minimum[kVectors];
};

#if HWY_TARGET == HWY_AVX2
struct NibbleMasks {
  alignas(32) uint32_t lanes[7][8] = {};
  constexpr NibbleMasks() {
    for (int n = 0; n < 7; ++n)
      for (uint32_t& lane : lanes[n]) lane = 15u << 4 * n;
  }
};
#endif

// The mask of nibble `n` of each lane. From memory with AVX2: its registers are taken, and gcc would build the masks
// anew for every group.
HWY_INLINE auto nibble_mask(int n) {
#if HWY_TARGET == HWY_AVX2
  static constexpr NibbleMasks kMasks;
  return hn::BitCast(I(), hn::Load(hn::RebindToUnsigned<I>(), kMasks.lanes[n]));
#else
  return hn::Set(I(), static_cast<int32_t>(15u << 4 * n));
#endif
}

HWY_INLINE void load_half4(const uint16_t* from, Vec (&out)[kVectors]) {
  const hn::Rebind<uint16_t, F> d;
  hn::Vec<decltype(d)> v0, v1, v2, v3;
  hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
  out[0] = hn::PromoteTo(F(), hn::BitCast(Half(), v0));
  out[1] = hn::PromoteTo(F(), hn::BitCast(Half(), v1));
  out[2] = hn::PromoteTo(F(), hn::BitCast(Half(), v2));
  out[3] = hn::PromoteTo(F(), hn::BitCast(Half(), v3));
}

// out[v] *= byte v of each word, read as T: rows 4j + v lie as the codes do.
template <typename T>
HWY_INLINE void multiply_bytes4(const T* from, Vec (&out)[kVectors]) {
  const hn::Rebind<std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>, F> wide;  // shifts right as T does
  const auto four = hn::LoadU(I(), reinterpret_cast<const int32_t*>(from));
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const auto byte = hn::ShiftRight<24>(hn::BitCast(wide, hn::ShiftLeftSame(four, 24 - 8 * v)));
    out[v] = hn::Mul(out[v], hn::ConvertTo(F(), hn::BitCast(I(), byte)));
  }
}

HWY_INLINE void load_spread(const PanelFormat& format, const TileView& view, int64_t group, int64_t row,
                            Spread& spread) {
  const int64_t shared = group * kPanelRows + row;
  const bool super = format.scales == Scales::super;
  Vec scale[kVectors];
  load_half4(view.scale + (super ? row : shared), scale);
  if (super) multiply_bytes4(view.sub_scale + shared, scale);
  if (format.minimum == Minimum::stored) {
    load_half4(view.minimum + (super ? row : shared), spread.minimum);
    if (super) multiply_bytes4(view.sub_minimum + shared, spread.minimum);
  }
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    if (format.minimum == Minimum::zero_point) {
      spread.minimum[v] = hn::Neg(hn::Mul(hn::Set(F(), static_cast<float>(format.zero_point)), scale[v]));
    } else if (super && format.minimum == Minimum::stored) {
      spread.minimum[v] = hn::Neg(spread.minimum[v]);
    }
    spread.low[v] = hn::Mul(scale[v], hn::Set(F(), 1.0f / static_cast<float>(1 << 8 * v)));
    // The topmost nibble would be the sign: it is shifted down instead.
    spread.high[v] = v == 3 ? scale[v] : hn::Mul(spread.low[v], hn::Set(F(), 0x1p-4f));
  }
}

// Two columns of kChunk rows.
template <int kCount, bool kWithMin>
HWY_INLINE void add_pair(const uint8_t* codes, const Spread& spread, const float* x, int64_t x_stride,
                         Sums<kCount>& sums) {
  const auto four = hn::LoadU(I(), reinterpret_cast<const int32_t*>(codes));
  const auto top = hn::BitCast(I(), hn::ShiftRight<28>(hn::BitCast(hn::RebindToUnsigned<I>(), four)));
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const Vec q = hn::ConvertTo(F(), hn::And(four, nibble_mask(2 * v)));
    sums.add(v, apply<kWithMin>(q, spread.low[v], spread.minimum[v]), x, x_stride);
  }
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const Vec q = hn::ConvertTo(F(), v == 3 ? top : hn::And(four, nibble_mask(2 * v + 1)));
    sums.add(v, apply<kWithMin>(q, spread.high[v], spread.minimum[v]), x + 1, x_stride);
  }
}

template <int kCount, bool kWithMin>
HWY_INLINE void gemv_i4_tile(const GemvArguments& g, const TileView& view, const float* x, int64_t row) {
  Sums<kCount> sums;
  sums.load(g.acc + row);
  for (int64_t group = 0; group < kGroupTile / g.format.group; ++group) {
    Spread spread;
    prefetch(view.scale + group * kPanelRows + row);
    prefetch(view.minimum + group * kPanelRows + row);
    load_spread(g.format, view, group, row, spread);
    const uint8_t* codes = view.codes + group * g.format.group / 2 * kPanelRows + row;
    const float* at = x + group * g.format.group;
    for (int64_t pair = 0; pair < g.format.group / 2; pair += kChunks) {
      prefetch(codes + row / kChunk * kPanelRows);  // each of the chunks fetches its share of the lines
      TANDEM_UNROLL
      for (int64_t i = 0; i < kChunks; ++i, codes += kPanelRows, at += 2)
        add_pair<kCount, kWithMin>(codes, spread, at, g.x_stride, sums);
    }
  }
  sums.store(g.acc + row);
}

template <int kCount, bool kWithMin>
void gemv_i4(const GemvArguments& g) {
  for (int64_t tile = 0; tile < g.columns / kGroupTile; ++tile) {
    const TileView view = tile_view(g.format, g.panel, tile);
    for (int64_t row = 0; row < kPanelRows; row += kChunk)
      gemv_i4_tile<kCount, kWithMin>(g, view, g.x + tile * kGroupTile, row);
  }
  const F d;
  for (float* sums = g.acc; sums < g.acc + kCount * kPanelRows; sums += kChunk) {
    const Vec v0 = hn::Load(d, sums), v1 = hn::Load(d, sums + kLanes);
    const Vec v2 = hn::Load(d, sums + 2 * kLanes), v3 = hn::Load(d, sums + 3 * kLanes);
    hn::StoreInterleaved4(v0, v1, v2, v3, d, sums);  // lane j of vector v becomes row 4j + v
  }
}

template <int kCount, bool kWithMin>
void gemv_i8(const GemvArguments& g) {
  for (int64_t tile = 0; tile < g.columns / kGroupTile; ++tile) {
    const TileView view = tile_view(g.format, g.panel, tile);
    const float* x = g.x + tile * kGroupTile;
    for (int64_t row = 0; row < kPanelRows; row += kChunk) {
      Sums<kCount> sums;
      sums.load(g.acc + row);
      decode_codes<kVectors, true, false, kWithMin>(
          g.format, view, row, [&](int64_t k, const Vec(&w)[kVectors]) HWY_ATTR { sums.add(w, x + k, g.x_stride); });
      sums.store(g.acc + row);
    }
  }
}

template <int kCount>
struct GemvCodes {
  const GemvArguments& arguments;
  template <bool kI4, bool kWithMin>
  void operator()() const {
    if constexpr (kI4) {
      gemv_i4<kCount, kWithMin>(arguments);
    } else {
      gemv_i8<kCount, kWithMin>(arguments);
    }
  }
};

template <int kCount>
struct GemvDense {
  const GemvArguments& arguments;
  template <Element kElement>
  void operator()() const {
    const GemvArguments& g = arguments;
    for (int64_t column = 0; column < g.columns; column += kTileColumns) {
      const int64_t count = column + kTileColumns <= g.columns ? kTileColumns : g.columns - column;
      for (int64_t row = 0; row < kPanelRows; row += kChunk) {
        Sums<kCount> sums;
        sums.load(g.acc + row);
        decode_dense<kVectors, true, kElement>(g.panel, column, count, row,
                                               [&](int64_t k, const Vec(&w)[kVectors])
                                                   HWY_ATTR { sums.add(w, g.x + column + k, g.x_stride); });
        sums.store(g.acc + row);
      }
    }
  }
};

template <int kCount>
void gemv_tokens(const GemvArguments& arguments) {
  for (int64_t i = 0; i < kCount * kPanelRows; ++i) arguments.acc[i] = 0;
  if (arguments.format.dense()) {
    with_dense(arguments.format.element, GemvDense<kCount>{arguments});
  } else {
    with_codes(arguments.format, GemvCodes<kCount>{arguments});
  }
}

void gemv_panel(const PanelFormat& format, const std::byte* panel, int64_t columns, const float* x, int64_t x_stride,
                int64_t tokens, float* acc) {
  const GemvArguments arguments{format, panel, columns, x, x_stride, acc};
  switch (tokens) {
    case 1:
      return gemv_tokens<1>(arguments);
    case 2:
      return gemv_tokens<2>(arguments);
    case 3:
      return gemv_tokens<3>(arguments);
    default:
      return gemv_tokens<4>(arguments);
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
