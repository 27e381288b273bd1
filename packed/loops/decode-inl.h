// Decodes packed weights to f32 in vectors, for the instruction set that exact_simd.cpp is being compiled for.
//
// Contract: decode_codes() and decode_dense() pass every column to a callable, ascending, as kRowVectors vectors of
//   rows. The bits are those of decode_weight(); with kHalves, dense values are rounded to halves. With kAhead they
//   prefetch the packed bytes that follow.
#if defined(TANDEM_PACKED_LOOPS_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_PACKED_LOOPS_DECODE_INL_H_
#undef TANDEM_PACKED_LOOPS_DECODE_INL_H_
#else
#define TANDEM_PACKED_LOOPS_DECODE_INL_H_
#endif

#include "hwy/highway.h"
#include "packed/loops/codes.h"
#include "packed/loops/exact_loops.h"

#ifndef TANDEM_UNROLL
#if defined(__clang__)
#define TANDEM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TANDEM_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace tandem {
namespace HWY_NAMESPACE {
// The instruction sets below AVX2 lack the fused multiply-add that the contract needs; they use the plain loops.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<int32_t, F>;
using Half = hn::Rebind<hwy::float16_t, F>;
using Vec = hn::Vec<F>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F()));
constexpr int64_t kAheadBytes = 12 * 1024;  // packed bytes are prefetched this far ahead of their use

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
// Volatile, so that lines are asked for in ascending order. gcc may turn the order of __builtin_prefetch() around, and
// weights then stream from memory 7 % slower (Zen 4, F16, one token).
HWY_INLINE void prefetch(const void* from) {
  const auto* ahead = static_cast<const uint8_t*>(from) + kAheadBytes;
  __asm__ volatile("prefetcht0 %0" : : "m"(*ahead));
}

// Scale and minimum of one group of columns for kRowVectors vectors of rows, kApart rows apart.
template <int kRowVectors>
struct Affine {
  Vec scale[kRowVectors], minimum[kRowVectors];
};

template <int kRowVectors, int64_t kApart = kLanes>
HWY_INLINE void load_affine(const PackedFormat& format, const TileView& view, int64_t group, int64_t row,
                            Affine<kRowVectors>& affine) {
  const int64_t shared = group * kPanelRows + row;
  TANDEM_UNROLL
  for (int v = 0; v < kRowVectors; ++v) {
    const int64_t at = v * kApart;
    const bool super = format.super_blocks();
    Vec scale = super ? hn::Mul(load_half(view.scale + row + at), load_i8(view.sub_scale + shared + at))
                      : load_half(view.scale + shared + at);
    if (format.scale == ScaleKind::eighths) scale = hn::Mul(scale, hn::Set(F(), format.scale_step()));
    affine.scale[v] = scale;
    affine.minimum[v] = hn::Zero(F());
    if (format.min == MinKind::zero_point) {
      affine.minimum[v] = hn::Neg(hn::Mul(hn::Set(F(), static_cast<float>(format.zero_point)), scale));
    } else if (format.min == MinKind::explicit_) {
      affine.minimum[v] =
          super ? hn::Neg(hn::Mul(load_half(view.minimum + row + at), load_u8(view.sub_minimum + shared + at)))
                : load_half(view.minimum + shared + at);
    }
  }
}

template <bool kWithMin>
HWY_INLINE Vec apply(Vec q, Vec scale, Vec minimum) {
  if constexpr (kWithMin) return hn::MulAdd(q, scale, minimum);
  return hn::Mul(q, scale);
}

// A word has four bytes of 4-bit codes; the same byte of 16 words holds the codes of 16 rows (i4_byte). A vector of
// words is loaded. The codes of one byte are masked in place and converted as q * 2^(8 byte); the scale takes the power
// back. Powers of two are exact, so fma(q, scale, min) rounds as written. The odd columns' codes are shifted down
// first, because the topmost bit would be the sign.
constexpr int64_t kWordRows = 16;  // rows in one byte of the words

HWY_INLINE hn::Vec<I> load_words(const uint8_t* codes, int64_t row) {
  return hn::LoadU(I(), reinterpret_cast<const int32_t*>(codes) + row % kWordRows);
}
HWY_INLINE hn::Vec<I> odd_columns(hn::Vec<I> words) {
  return hn::BitCast(I(), hn::ShiftRight<4>(hn::BitCast(hn::RebindToUnsigned<I>(), words)));
}
HWY_INLINE Vec of_byte(int64_t byte) { return hn::Set(F(), 1.0f / static_cast<float>(1 << 8 * byte)); }

// Brings byte `byte` of each word down to the lowest place. After inlining, the byte is a constant.
HWY_INLINE hn::Vec<I> byte_down(hn::Vec<I> words, int64_t byte) {
  const auto bits = hn::BitCast(hn::RebindToUnsigned<I>(), words);
  if (byte == 0) return words;
  return hn::BitCast(I(), byte == 1   ? hn::ShiftRight<8>(bits)
                          : byte == 2 ? hn::ShiftRight<16>(bits)
                                      : hn::ShiftRight<24>(bits));
}

// The 16 values of a code book as floats. at() looks up the lowest four bits of each word. The processor's own lookups
// ignore the bits above, so nothing has to be masked.
#if HWY_TARGET == HWY_AVX3
struct BookTable {
  Vec values;
  HWY_INLINE explicit BookTable(const PackedFormat& format) : values(load_i8(format.book_values())) {}
  HWY_INLINE Vec at(hn::Vec<I> words) const { return Vec{_mm512_permutexvar_ps(words.raw, values.raw)}; }
};
#else
struct BookTable {
  Vec low, high;  // bit 3 of a code chooses
  HWY_INLINE explicit BookTable(const PackedFormat& format)
      : low(load_i8(format.book_values())), high(load_i8(format.book_values() + kLanes)) {}
  HWY_INLINE Vec at(hn::Vec<I> words) const {
    const __m256 choice = _mm256_castsi256_ps(_mm256_slli_epi32(words.raw, 28));
    return Vec{_mm256_blendv_ps(_mm256_permutevar8x32_ps(low.raw, words.raw),
                                _mm256_permutevar8x32_ps(high.raw, words.raw), choice)};
  }
};
#endif

// Calls use(k, w) for the columns k of a tile of codes, ascending; w[v] is its rows from row + v * kLanes on.
template <int kRowVectors, bool kAhead, Codes kCodes, bool kWithMin, typename Use>
HWY_INLINE void decode_codes(const PackedFormat& format, const TileView& view, int64_t row, const Use& use) {
  constexpr bool kI4 = kFourBits<kCodes>;
  for (int64_t group = 0; group < format.groups(); ++group) {
    Affine<kRowVectors> affine;
    if constexpr (kAhead) prefetch(view.scale + group * kPanelRows);
    load_affine(format, view, group, row, affine);
    hn::Vec<I> mask[kRowVectors];
    if constexpr (kCodes == Codes::nibbles) {
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v) {
        const int64_t byte = (row + v * kLanes) / kWordRows;
        mask[v] = hn::Set(I(), 15 << 8 * byte);
        affine.scale[v] = hn::Mul(affine.scale[v], of_byte(byte));
      }
    }
    const int64_t begin = group * format.group, end = begin + format.group;
    for (int64_t k = begin; k < end; k += kI4 ? 2 : 1) {
      const uint8_t* codes = view.codes + (kI4 ? k / 2 * kPanelRows : k * kPanelRows + row);
      if constexpr (kAhead) prefetch(codes);
      Vec w[kRowVectors];
      if constexpr (kCodes == Codes::book) {
        const BookTable book(format);
        Vec odd[kRowVectors];
        TANDEM_UNROLL
        for (int v = 0; v < kRowVectors; ++v) {
          const int64_t at = row + v * kLanes;
          const auto words = byte_down(load_words(codes, at), at / kWordRows);
          w[v] = hn::Mul(book.at(words), affine.scale[v]);
          odd[v] = hn::Mul(book.at(odd_columns(words)), affine.scale[v]);
        }
        use(k, w);
        use(k + 1, odd);
      } else if constexpr (kI4) {
        Vec high[kRowVectors];
        TANDEM_UNROLL
        for (int v = 0; v < kRowVectors; ++v) {
          const auto words = load_words(codes, row + v * kLanes);
          const Vec low = hn::ConvertTo(F(), hn::And(words, mask[v]));
          const Vec odd = hn::ConvertTo(F(), hn::And(odd_columns(words), mask[v]));
          w[v] = apply<kWithMin>(low, affine.scale[v], affine.minimum[v]);
          high[v] = apply<kWithMin>(odd, affine.scale[v], affine.minimum[v]);
        }
        use(k, w);
        use(k + 1, high);
      } else {
        TANDEM_UNROLL
        for (int v = 0; v < kRowVectors; ++v) {
          const Vec q = load_i8(reinterpret_cast<const int8_t*>(codes) + v * kLanes);
          w[v] = apply<kWithMin>(q, affine.scale[v], affine.minimum[v]);
        }
        use(k, w);
      }
    }
  }
}

template <PackedKind kKind>
HWY_INLINE Vec load_dense(const std::byte* panel, int64_t index) {
  if constexpr (kKind == PackedKind::f16) return load_half(reinterpret_cast<const uint16_t*>(panel) + index);
  if constexpr (kKind == PackedKind::f32) return hn::LoadU(F(), reinterpret_cast<const float*>(panel) + index);
  const auto bits =
      hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint16_t, F>(), reinterpret_cast<const uint16_t*>(panel) + index));
  return hn::BitCast(F(), hn::ShiftLeft<16>(bits));
}

template <int kRowVectors, bool kAhead, PackedKind kKind, bool kHalves, typename Use>
HWY_INLINE void decode_dense(const std::byte* panel, int64_t column, int64_t count, int64_t row, const Use& use) {
  for (int64_t k = 0; k < count; ++k) {
    const int64_t index = (column + k) * kPanelRows + row;
    if constexpr (kAhead) {
      constexpr int64_t kBytes = kKind == PackedKind::f32 ? 4 : 2;
      TANDEM_UNROLL
      for (int64_t line = 0; line < kRowVectors * kLanes * kBytes; line += 64) prefetch(panel + index * kBytes + line);
    }
    Vec w[kRowVectors];
    TANDEM_UNROLL
    for (int v = 0; v < kRowVectors; ++v) {
      w[v] = load_dense<kKind>(panel, index + v * kLanes);
      if constexpr (kHalves && kKind != PackedKind::f16) w[v] = to_half_and_back(w[v]);
    }
    use(k, w);
  }
}

// Chooses the decoder once per call of `body`, so that the inner loops have no branches.
template <typename Body>
HWY_INLINE void with_codes(const PackedFormat& format, const Body& body) {
  const bool with_min = format.min != MinKind::none;
  if (format.book != CodeBook::none) {
    body.template operator()<Codes::book, false>();
  } else if (format.kind == PackedKind::i4) {
    with_min ? body.template operator()<Codes::nibbles, true>() : body.template operator()<Codes::nibbles, false>();
  } else {
    with_min ? body.template operator()<Codes::bytes, true>() : body.template operator()<Codes::bytes, false>();
  }
}

template <typename Body>
HWY_INLINE void with_dense(PackedKind kind, bool halves, const Body& body) {
  if (kind == PackedKind::f16) return body.template operator()<PackedKind::f16, true>();
  if (kind == PackedKind::bf16) {
    halves ? body.template operator()<PackedKind::bf16, true>() : body.template operator()<PackedKind::bf16, false>();
  } else {
    halves ? body.template operator()<PackedKind::f32, true>() : body.template operator()<PackedKind::f32, false>();
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
