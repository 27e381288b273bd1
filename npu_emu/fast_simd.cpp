// The fast path's loops for AVX-512 and AVX2. Highway compiles this file once for each instruction set.
//
// Numbers behind the shape (feasibility: Zen 5, one core): 64 x 64 tiles with 8 tokens x 2 zmm reach 1.0-1.1 x
// OpenBLAS, 32 x 32 tiles 0.8-0.9; packed 4-bit weights stream at 24-28 GB/s with 64 rows in flight and a prefetch 8-16
// KiB ahead (without: a third less).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_emu/fast_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "npu_emu/fast_kernels.h"

#if defined(__clang__)
#define TANDEM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TANDEM_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace tandem::npu_emu {
namespace HWY_NAMESPACE {
// The sets below AVX2 have no fused multiply-add, which the contract needs; they use the plain loops.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<int32_t, F>;
using Half = hn::Rebind<hwy::float16_t, F>;
using Vec = hn::Vec<F>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
constexpr int kVectors = 4;                              // accumulators of one token: 64 rows (AVX-512) or 32 (AVX2)
constexpr int64_t kChunk = kVectors * kLanes;            // rows handled together
constexpr int kTokens = HWY_TARGET == HWY_AVX3 ? 8 : 4;  // tokens in flight in stream_tile: 16 or 8 accumulators
constexpr int64_t kAheadBytes = 12 * 1024;               // packed bytes fetched ahead of their use

HWY_INLINE Vec load_half(const uint16_t* from) {
  return hn::PromoteTo(F(), hn::LoadU(Half(), reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE Vec load_u8(const uint8_t* from) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint8_t, F>(), from)));
}
HWY_INLINE Vec load_i8(const int8_t* from) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<int8_t, F>(), from)));
}
HWY_INLINE Vec to_half_and_back(Vec value) { return hn::PromoteTo(F(), hn::DemoteTo(Half(), value)); }
HWY_INLINE void prefetch(const void* from) { __builtin_prefetch(static_cast<const uint8_t*>(from) + kAheadBytes); }

// Scale and minimum of kVectors x kLanes rows for one group of columns.
struct Affine {
  Vec scale[kVectors], minimum[kVectors];
};

HWY_INLINE void load_affine(const PanelFormat& format, const TileView& view, int64_t group, int64_t row,
                            Affine& affine) {
  const int64_t shared = group * kPanelRows + row;
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v * kLanes;
    const bool super = format.scales == Scales::super;
    const Vec scale = super ? hn::Mul(load_half(view.scale + row + at), load_i8(view.sub_scale + shared + at))
                            : load_half(view.scale + shared + at);
    affine.scale[v] = scale;
    affine.minimum[v] = hn::Zero(F());
    if (format.minimum == Minimum::zero_point) {
      affine.minimum[v] = hn::Neg(hn::Mul(hn::Set(F(), static_cast<float>(format.zero_point)), scale));
    } else if (format.minimum == Minimum::stored) {
      affine.minimum[v] =
          super ? hn::Neg(hn::Mul(load_half(view.minimum + row + at), load_u8(view.sub_minimum + shared + at)))
                : load_half(view.minimum + shared + at);
    }
  }
}

template <bool kWithMin>
HWY_INLINE Vec apply(const Affine& affine, int v, Vec q) {
  if constexpr (kWithMin) return hn::MulAdd(q, affine.scale[v], affine.minimum[v]);
  return hn::Mul(q, affine.scale[v]);
}

// Calls use(k, v, w) for the columns k of a tile of codes, ascending, and the row vectors v of the chunk.
template <bool kI4, bool kWithMin, typename Use>
HWY_INLINE void decode_codes(const PanelFormat& format, const TileView& view, int64_t row, const Use& use) {
  for (int64_t group = 0; group < kGroupTile / format.group; ++group) {
    Affine affine;
    prefetch(view.scale + group * kPanelRows);
    load_affine(format, view, group, row, affine);
    const int64_t begin = group * format.group, end = begin + format.group;
    for (int64_t k = begin; k < end; k += kI4 ? 2 : 1) {
      const uint8_t* codes = view.codes + (kI4 ? k / 2 : k) * kPanelRows + row;
      prefetch(codes);
      if constexpr (kI4) {
        Vec high[kVectors];
        TANDEM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const auto pair = hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint8_t, F>(), codes + v * kLanes));
          const Vec low = hn::ConvertTo(F(), hn::And(pair, hn::Set(I(), 15)));
          high[v] = apply<kWithMin>(affine, v, hn::ConvertTo(F(), hn::ShiftRight<4>(pair)));
          use(k, v, apply<kWithMin>(affine, v, low));
        }
        TANDEM_UNROLL
        for (int v = 0; v < kVectors; ++v) use(k + 1, v, high[v]);
      } else {
        TANDEM_UNROLL
        for (int v = 0; v < kVectors; ++v)
          use(k, v, apply<kWithMin>(affine, v, load_i8(reinterpret_cast<const int8_t*>(codes) + v * kLanes)));
      }
    }
  }
}

template <Element kElement>
HWY_INLINE Vec load_dense(const std::byte* panel, int64_t index) {
  if constexpr (kElement == Element::f16) return load_half(reinterpret_cast<const uint16_t*>(panel) + index);
  if constexpr (kElement == Element::f32) {
    return to_half_and_back(hn::LoadU(F(), reinterpret_cast<const float*>(panel) + index));
  }
  const auto bits =
      hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint16_t, F>(), reinterpret_cast<const uint16_t*>(panel) + index));
  return to_half_and_back(hn::BitCast(F(), hn::ShiftLeft<16>(bits)));
}

template <Element kElement, typename Use>
HWY_INLINE void decode_dense(const std::byte* panel, int64_t column, int64_t count, int64_t row, const Use& use) {
  for (int64_t k = 0; k < count; ++k) {
    const int64_t index = (column + k) * kPanelRows + row;
    constexpr int64_t kBytes = kElement == Element::f32 ? 4 : 2;
    TANDEM_UNROLL
    for (int64_t line = 0; line < kChunk * kBytes; line += 64) prefetch(panel + index * kBytes + line);
    TANDEM_UNROLL
    for (int v = 0; v < kVectors; ++v) use(k, v, load_dense<kElement>(panel, index + v * kLanes));
  }
}

// Chooses the decoder once per call of `body`, so that the loops inside are free of branches.
template <typename Body>
HWY_INLINE void with_codes(const PanelFormat& format, const Body& body) {
  const bool with_min = format.minimum != Minimum::none;
  if (format.element == Element::i4) {
    with_min ? body.template operator()<true, true>() : body.template operator()<true, false>();
  } else {
    with_min ? body.template operator()<false, true>() : body.template operator()<false, false>();
  }
}

template <typename Body>
HWY_INLINE void with_dense(Element element, const Body& body) {
  if (element == Element::f16) return body.template operator()<Element::f16>();
  if (element == Element::bf16) return body.template operator()<Element::bf16>();
  body.template operator()<Element::f32>();
}

template <bool kI4, bool kWithMin>
void decode_code_tiles(const PanelFormat& format, const std::byte* panel, int64_t column, int64_t count, float* tile) {
  for (int64_t k = 0; k < count; k += kGroupTile) {
    const TileView view = tile_view(format, panel, (column + k) / kGroupTile);
    for (int64_t row = 0; row < kPanelRows; row += kChunk) {
      float* out = tile + k * kPanelRows + row;
      decode_codes<kI4, kWithMin>(format, view, row, [&](int64_t at, int v, Vec w) HWY_ATTR {
        hn::Store(w, F(), out + at * kPanelRows + v * kLanes);
      });
    }
  }
}

template <Element kElement>
void decode_dense_tile(const std::byte* panel, int64_t column, int64_t count, float* tile) {
  for (int64_t row = 0; row < kPanelRows; row += kChunk) {
    decode_dense<kElement>(panel, column, count, row, [&](int64_t k, int v, Vec w) HWY_ATTR {
      hn::Store(w, F(), tile + k * kPanelRows + row + v * kLanes);
    });
  }
}

struct DecodeCodes {
  const PanelFormat& format;
  const std::byte* panel;
  int64_t column, count;
  float* tile;
  template <bool kI4, bool kWithMin>
  void operator()() const {
    decode_code_tiles<kI4, kWithMin>(format, panel, column, count, tile);
  }
};

struct DecodeDense {
  const std::byte* panel;
  int64_t column, count;
  float* tile;
  template <Element kElement>
  void operator()() const {
    decode_dense_tile<kElement>(panel, column, count, tile);
  }
};

void decode_tile(const PanelFormat& format, const std::byte* panel, int64_t column, int64_t count, float* tile) {
  if (format.dense()) {
    with_dense(format.element, DecodeDense{panel, column, count, tile});
  } else {
    with_codes(format, DecodeCodes{format, panel, column, count, tile});
  }
}

// kTokens tokens against 2 vectors of rows: the register block. Fetches the next block's sums and inputs, which lie in
// L2 or L3 at hundreds of tokens (512 x 2048 x 2048: 0.86 of OpenBLAS without, 0.96 with).
HWY_INLINE void stream_block(const float* HWY_RESTRICT tile, int64_t count, const float* HWY_RESTRICT x,
                             float* HWY_RESTRICT acc) {
  const F d;
  Vec a0[kTokens], a1[kTokens];
  TANDEM_UNROLL
  for (int s = 0; s < kTokens; ++s) {
    a0[s] = hn::Load(d, acc + s * kPanelRows);
    a1[s] = hn::Load(d, acc + s * kPanelRows + kLanes);
    __builtin_prefetch(acc + (kTokenBlock + s) * kPanelRows);
    __builtin_prefetch(acc + (kTokenBlock + s) * kPanelRows + kLanes);
  }
  for (int64_t k = 0; k < count; ++k) {
    __builtin_prefetch(x + (kTileColumns + k) * kTokenBlock);
    const Vec w0 = hn::Load(d, tile + k * kPanelRows), w1 = hn::Load(d, tile + k * kPanelRows + kLanes);
    TANDEM_UNROLL
    for (int s = 0; s < kTokens; ++s) {
      const Vec value = hn::Set(d, x[k * kTokenBlock + s]);
      a0[s] = hn::MulAdd(w0, value, a0[s]);
      a1[s] = hn::MulAdd(w1, value, a1[s]);
    }
  }
  TANDEM_UNROLL
  for (int s = 0; s < kTokens; ++s) {
    hn::Store(a0[s], d, acc + s * kPanelRows);
    hn::Store(a1[s], d, acc + s * kPanelRows + kLanes);
  }
}

void stream_tile(const float* tile, int64_t count, const float* x, int64_t blocks, float* acc) {
  for (int64_t block = 0; block < blocks; ++block) {
    const float* tokens = x + block * kTileColumns * kTokenBlock;
    for (int64_t s = 0; s < kTokenBlock; s += kTokens)
      for (int64_t row = 0; row < kPanelRows; row += 2 * kLanes)
        stream_block(tile + row, count, tokens + s, acc + (block * kTokenBlock + s) * kPanelRows + row);
  }
}

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

HWY_INLINE void load_half4(const uint16_t* from, Vec (&out)[kVectors]) {
  const hn::Rebind<uint16_t, F> d;
  hn::Vec<decltype(d)> v0, v1, v2, v3;
  hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
  out[0] = hn::PromoteTo(F(), hn::BitCast(Half(), v0));
  out[1] = hn::PromoteTo(F(), hn::BitCast(Half(), v1));
  out[2] = hn::PromoteTo(F(), hn::BitCast(Half(), v2));
  out[3] = hn::PromoteTo(F(), hn::BitCast(Half(), v3));
}

// out[v] *= the bytes of row order 4j + v, read as T.
template <typename T>
HWY_INLINE void multiply_bytes4(const T* from, Vec (&out)[kVectors]) {
  const hn::Rebind<uint8_t, F> d;
  const hn::Rebind<T, F> as;
  hn::Vec<decltype(d)> v0, v1, v2, v3;
  hn::LoadInterleaved4(d, reinterpret_cast<const uint8_t*>(from), v0, v1, v2, v3);
  out[0] = hn::Mul(out[0], hn::ConvertTo(F(), hn::PromoteTo(I(), hn::BitCast(as, v0))));
  out[1] = hn::Mul(out[1], hn::ConvertTo(F(), hn::PromoteTo(I(), hn::BitCast(as, v1))));
  out[2] = hn::Mul(out[2], hn::ConvertTo(F(), hn::PromoteTo(I(), hn::BitCast(as, v2))));
  out[3] = hn::Mul(out[3], hn::ConvertTo(F(), hn::PromoteTo(I(), hn::BitCast(as, v3))));
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

template <bool kWithMin>
HWY_INLINE Vec decode_spread(Vec q, Vec scale, Vec minimum) {
  if constexpr (kWithMin) return hn::MulAdd(q, scale, minimum);
  return hn::Mul(q, scale);
}

template <int kCount, bool kWithMin>
HWY_INLINE void gemv_i4_tile(const GemvArguments& g, const TileView& view, const float* x, int64_t row) {
  Sums<kCount> sums;
  sums.load(g.acc + row);
  for (int64_t group = 0; group < kGroupTile / g.format.group; ++group) {
    Spread spread;
    prefetch(view.scale + group * kPanelRows);
    prefetch(view.minimum + group * kPanelRows);
    load_spread(g.format, view, group, row, spread);
    const int64_t begin = group * g.format.group, end = begin + g.format.group;
    for (int64_t k = begin; k < end; k += 2) {
      const uint8_t* codes = view.codes + k / 2 * kPanelRows + row;
      prefetch(codes);
      const auto four = hn::LoadU(I(), reinterpret_cast<const int32_t*>(codes));
      const auto top = hn::BitCast(I(), hn::ShiftRight<28>(hn::BitCast(hn::RebindToUnsigned<I>(), four)));
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vec q = hn::ConvertTo(F(), hn::And(four, hn::Set(I(), 15 << 8 * v)));
        sums.add(v, decode_spread<kWithMin>(q, spread.low[v], spread.minimum[v]), x + k, g.x_stride);
      }
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vec q =
            hn::ConvertTo(F(), v == 3 ? top : hn::And(four, hn::Set(I(), static_cast<int32_t>(15u << (8 * v + 4)))));
        sums.add(v, decode_spread<kWithMin>(q, spread.high[v], spread.minimum[v]), x + k + 1, g.x_stride);
      }
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
      decode_codes<false, kWithMin>(g.format, view, row,
                                    [&](int64_t k, int v, Vec w) HWY_ATTR { sums.add(v, w, x + k, g.x_stride); });
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
        decode_dense<kElement>(g.panel, column, count, row,
                               [&](int64_t k, int v, Vec w) HWY_ATTR { sums.add(v, w, g.x + column + k, g.x_stride); });
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

void round_half(const float* in, float* out, int64_t count) {
  const F d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(to_half_and_back(hn::LoadU(d, in + i)), d, out + i);
  if (i < count) plain_kernels().round_half(in + i, out + i, count - i);
}

}  // namespace

const FastKernels& kernels() {
  static constexpr FastKernels kKernels = {HWY_TARGET == HWY_AVX3 ? "avx512" : "avx2", decode_tile, stream_tile,
                                           gemv_panel, round_half};
  return kKernels;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace tandem::npu_emu {

std::span<const FastKernels* const> all_kernels() {
  static const std::vector<const FastKernels*> found = [] {
    std::vector<const FastKernels*> kernels;
    [[maybe_unused]] const auto targets = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
    if (targets & HWY_AVX3) kernels.push_back(&N_AVX3::kernels());
#endif
#if HWY_TARGETS & HWY_AVX2
    if (targets & HWY_AVX2) kernels.push_back(&N_AVX2::kernels());
#endif
    kernels.push_back(&plain_kernels());
    return kernels;
  }();
  return found;
}

const FastKernels& best_kernels() { return *all_kernels().front(); }

}  // namespace tandem::npu_emu
#endif
