// Vector forms of the weight loader: packed weights to f32, for the instruction set that fast_simd.cpp is being
// compiled for.
//
// Contract: decode_codes() and decode_dense() hand every decoded vector to a callable, columns ascending; bits as
// decode_weight().
#if defined(TANDEM_NPU_EMU_SIMD_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_NPU_EMU_SIMD_DECODE_INL_H_
#undef TANDEM_NPU_EMU_SIMD_DECODE_INL_H_
#else
#define TANDEM_NPU_EMU_SIMD_DECODE_INL_H_
#endif

#include "hwy/highway.h"
#include "npu_emu/fast_kernels.h"

#ifndef TANDEM_UNROLL
#if defined(__clang__)
#define TANDEM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TANDEM_UNROLL _Pragma("GCC unroll 16")
#endif
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
constexpr int kVectors = 4;                    // accumulators of one token: 64 rows (AVX-512) or 32 (AVX2)
constexpr int64_t kChunk = kVectors * kLanes;  // rows handled together
constexpr int64_t kAheadBytes = 12 * 1024;     // packed bytes fetched ahead of their use

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
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem::npu_emu
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
