// Multiplies a panel of packed weights with 1 to 4 tokens, for the instruction set that exact_simd.cpp is being
// compiled for.
//
// Contract: gemv_panel() as in ExactLoops. Totals are in the caller's memory.
#if defined(TANDEM_PACKED_LOOPS_GEMV_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef TANDEM_PACKED_LOOPS_GEMV_INL_H_
#undef TANDEM_PACKED_LOOPS_GEMV_INL_H_
#else
#define TANDEM_PACKED_LOOPS_GEMV_INL_H_
#endif

#include "packed/loops/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
namespace {

constexpr int kVectors = 4;                    // accumulators of one token: 64 rows (AVX-512) or 32 (AVX2)
constexpr int64_t kChunk = kVectors * kLanes;  // rows handled together
constexpr int64_t kChunks = kPanelRows / kChunk;

// The sums of `kCount` tokens x kChunk rows over a run of columns; vectors of rows are kApart rows apart. With AVX-512
// they stay in registers for the whole run.
template <int kCount, int64_t kApart = kLanes>
struct Sums {
  Vec acc[kCount][kVectors];

  HWY_INLINE void clear() {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[s][v] = hn::Zero(F());
    }
  }
  HWY_INLINE void add_to(float* total) const {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        float* at = total + s * kPanelRows + v * kApart;
        hn::Store(hn::Add(hn::Load(F(), at), acc[s][v]), F(), at);
      }
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
  const PackedFormat& format;
  bool halves;
  const std::byte* panel;
  int64_t columns;
  const float* x;
  int64_t x_stride;
  float* total;
};

// Weights of four bits, straight from memory: the hottest loop of decode steps. A vector of words is kVectors vectors
// of rows, one for each byte. So a weight costs two cheap operations beside the two multiply-adds, on other pipes.
static_assert(kVectors * kWordRows == kPanelRows);
template <int kCount>
using WordSums = Sums<kCount, kWordRows>;
using WordAffine = Affine<kVectors>;  // its scales are multiplied by of_byte()

#if HWY_TARGET == HWY_AVX2
struct NibbleMasks {
  alignas(32) uint32_t lanes[kVectors][8] = {};
  constexpr NibbleMasks() {
    for (int v = 0; v < kVectors; ++v)
      for (uint32_t& lane : lanes[v]) lane = 15u << 8 * v;
  }
};
#endif

// The mask of byte `v`'s low nibble. With AVX2 it comes from memory: all registers are in use, and gcc would build the
// masks anew for every group.
HWY_INLINE auto nibble_mask(int v) {
#if HWY_TARGET == HWY_AVX2
  static constexpr NibbleMasks kMasks;
  return hn::BitCast(I(), hn::Load(hn::RebindToUnsigned<I>(), kMasks.lanes[v]));
#else
  return hn::Set(I(), 15 << 8 * v);
#endif
}

// Adds one column of a vector of words.
template <int kCount, bool kWithMin>
HWY_INLINE void add_column(hn::Vec<I> words, const WordAffine& affine, const float* x, int64_t x_stride,
                           WordSums<kCount>& sums) {
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const Vec q = hn::ConvertTo(F(), hn::And(words, nibble_mask(v)));
    sums.add(v, apply<kWithMin>(q, affine.scale[v], affine.minimum[v]), x, x_stride);
  }
}

#if HWY_TARGET == HWY_AVX3
// One operation turns a code into a float if the code is at bit 16 or 12 of its word. Behind the exponent of 128 or
// 2048 it reads as 128 + q or 2048 + q. Then fma(128 + q, scale, min - 128 scale) rounds the same number as fma(q,
// scale, min), if min - 128 scale is exact.
constexpr int32_t kAt16 = 15 << 16, kAt12 = 15 << 12;
constexpr int32_t k128 = 0x43000000, k2048 = 0x45000000;  // as f32

// True if min - 128 scale and min - 2048 scale are exact for all rows of a group. Let E be the exponent field of
// |scale|, an f16. They are exact if that of |min| is E - 1 to E + 11: both terms are multiples of 2^(E - 26) below
// 2^(E - 2), 24 bits.
HWY_INLINE bool takes_offsets(const PackedFormat& format, const TileView& view, int64_t group) {
  if (format.scale != ScaleKind::half) return false;
  if (format.min == MinKind::zero_point) return true;  // an f16 times at most 12 bits
  const hn::ScalableTag<uint16_t> d;
  const auto magnitude = hn::Set(d, 0x7fff), one = hn::Set(d, 1 << 10), eleven = hn::Set(d, 11 << 10);
  auto outside = hn::Zero(d);
  for (int64_t row = group * kPanelRows; row < (group + 1) * kPanelRows; row += static_cast<int64_t>(hn::Lanes(d))) {
    const auto scale = hn::And(hn::LoadU(d, view.scale + row), magnitude);
    const auto minimum = hn::And(hn::LoadU(d, view.minimum + row), magnitude);
    outside = hn::Or(outside, hn::SaturatedSub(hn::SaturatedSub(scale, one), minimum));
    outside = hn::Or(outside, hn::SaturatedSub(minimum, hn::SaturatedAdd(scale, eleven)));
  }
  return hn::AllTrue(d, hn::Eq(outside, hn::Zero(d)));
}

struct OffsetAffine {
  Vec scale[kVectors], even[kVectors], odd[kVectors];  // min - 128 scale, min - 2048 scale
};

HWY_INLINE OffsetAffine with_offsets(const WordAffine& affine) {
  OffsetAffine offsets;
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    offsets.scale[v] = affine.scale[v];
    offsets.even[v] = hn::NegMulAdd(affine.scale[v], hn::Set(F(), 128.0f), affine.minimum[v]);
    offsets.odd[v] = hn::NegMulAdd(affine.scale[v], hn::Set(F(), 2048.0f), affine.minimum[v]);
  }
  return offsets;
}

HWY_INLINE Vec offset_code(hn::Vec<I> words, int32_t mask, int32_t offset) {
  return hn::BitCast(F(), hn::Or(hn::And(words, hn::Set(I(), mask)), hn::Set(I(), offset)));
}

// Adds two columns of all rows. A load that begins up to two bytes earlier has the codes as many bytes higher, so the
// load does the shift. The bytes in front of a tile's codes are its scales.
template <int kCount>
HWY_INLINE void add_pair(const uint8_t* codes, const OffsetAffine& affine, const float* x, int64_t x_stride,
                         WordSums<kCount>& sums) {
  const auto words = load_words(codes, 0);
  const auto bits = hn::BitCast(hn::RebindToUnsigned<I>(), words);
  const hn::Vec<I> at[] = {load_words(codes - 2, 0), load_words(codes - 1, 0), words,
                           hn::BitCast(I(), hn::ShiftRight<8>(bits)), hn::BitCast(I(), hn::ShiftRight<16>(bits))};
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v)
    sums.add(v, hn::MulAdd(offset_code(at[v], kAt16, k128), affine.scale[v], affine.even[v]), x, x_stride);
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v)
    sums.add(v, hn::MulAdd(offset_code(at[v + 1], kAt12, k2048), affine.scale[v], affine.odd[v]), x + 1, x_stride);
}
#endif

// Adds one group of columns to the sums of the rows in the words from `row` on.
template <int kCount, bool kWithMin>
HWY_INLINE void gemv_i4_group(const GemvArguments& g, const TileView& view, int64_t group, const float* x, int64_t row,
                              WordSums<kCount>& sums) {
  const int64_t pairs = g.format.group / 2;
  const uint8_t* codes = view.codes + group * pairs * kPanelRows;
  prefetch(view.scale + group * kPanelRows + row * kVectors);
  prefetch(view.minimum + group * kPanelRows + row * kVectors);
  WordAffine affine;
  load_affine<kVectors, kWordRows>(g.format, view, group, row, affine);
#if HWY_TARGET == HWY_AVX3
  if (kWithMin && takes_offsets(g.format, view, group)) {
    const OffsetAffine offsets = with_offsets(affine);
    for (int64_t pair = 0; pair < pairs; ++pair, codes += kPanelRows, x += 2) {
      prefetch(codes);
      add_pair<kCount>(codes, offsets, x, g.x_stride, sums);
    }
    return;
  }
#endif
  TANDEM_UNROLL
  for (int v = 0; v < kVectors; ++v) affine.scale[v] = hn::Mul(affine.scale[v], of_byte(v));
  for (int64_t pair = 0; pair < pairs; pair += kChunks) {
    prefetch(codes + row / kLanes * kPanelRows);  // each chunk prefetches its share of the lines
    TANDEM_UNROLL
    for (int64_t i = 0; i < kChunks; ++i, codes += kPanelRows, x += 2) {
      const auto words = load_words(codes, row);
      add_column<kCount, kWithMin>(words, affine, x, g.x_stride, sums);
      add_column<kCount, kWithMin>(odd_columns(words), affine, x + 1, g.x_stride, sums);
    }
  }
}

// The kernels are functions of their own: inlined, gcc takes some for cold and does not align their loops.
template <int kCount, bool kWithMin>
HWY_NOINLINE void gemv_i4(const GemvArguments& g) {
  const TilesOfPanel panel(g.format, g.panel);
  for (ColumnRun run(g.columns); run.is_valid(); run.next()) {
    const int64_t first = run.first_column() / kTileColumns, end = run.end_column() / kTileColumns;
    WordSums<kCount> sums[kChunks];
    for (WordSums<kCount>& chunk : sums) chunk.clear();
    for (int64_t tile = first; tile < end; ++tile) {
      const TileView view = panel.at(tile);
      const float* x = g.x + tile * kTileColumns;
      for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
        WordSums<kCount> now = sums[chunk];
        for (int64_t group = 0; group < g.format.groups(); ++group)
          gemv_i4_group<kCount, kWithMin>(g, view, group, x + group * g.format.group, chunk * kLanes, now);
        sums[chunk] = now;
      }
    }
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) sums[chunk].add_to(g.total + chunk * kLanes);
  }
}

template <int kCount, bool kWithMin>
HWY_NOINLINE void gemv_i8(const GemvArguments& g) {
  const TilesOfPanel panel(g.format, g.panel);
  for (ColumnRun run(g.columns); run.is_valid(); run.next()) {
    const int64_t first = run.first_column() / kTileColumns, end = run.end_column() / kTileColumns;
    Sums<kCount> sums[kChunks];
    for (Sums<kCount>& chunk : sums) chunk.clear();
    for (int64_t tile = first; tile < end; ++tile) {
      const TileView view = panel.at(tile);
      const float* x = g.x + tile * kTileColumns;
      for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
        Sums<kCount> now = sums[chunk];
        decode_codes<kVectors, true, false, kWithMin>(g.format, view, chunk * kChunk,
                                                      [&](int64_t k, const Vec(&w)[kVectors])
                                                          HWY_ATTR { now.add(w, x + k, g.x_stride); });
        sums[chunk] = now;
      }
    }
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) sums[chunk].add_to(g.total + chunk * kChunk);
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

template <int kCount, PackedKind kKind, bool kHalves>
HWY_NOINLINE void gemv_dense(const GemvArguments& g) {
  for (ColumnRun run(g.columns); run.is_valid(); run.next()) {
    Sums<kCount> sums[kChunks];
    for (Sums<kCount>& chunk : sums) chunk.clear();
    for (int64_t column = run.first_column(); column < run.end_column(); column += kResidentColumns) {
      const int64_t left = run.end_column() - column, count = left < kResidentColumns ? left : kResidentColumns;
      for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
        Sums<kCount> now = sums[chunk];
        decode_dense<kVectors, true, kKind, kHalves>(g.panel, column, count, chunk * kChunk,
                                                     [&](int64_t k, const Vec(&w)[kVectors])
                                                         HWY_ATTR { now.add(w, g.x + column + k, g.x_stride); });
        sums[chunk] = now;
      }
    }
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) sums[chunk].add_to(g.total + chunk * kChunk);
  }
}

template <int kCount>
struct GemvDense {
  const GemvArguments& arguments;
  template <PackedKind kKind, bool kHalves>
  void operator()() const {
    gemv_dense<kCount, kKind, kHalves>(arguments);
  }
};

template <int kCount>
void gemv_tokens(const GemvArguments& arguments) {
  for (int64_t i = 0; i < kCount * kPanelRows; ++i) arguments.total[i] = 0;
  if (arguments.format.dense()) {
    with_dense(arguments.format.kind, arguments.halves, GemvDense<kCount>{arguments});
  } else {
    with_codes(arguments.format, GemvCodes<kCount>{arguments});
  }
}

void gemv_panel(const PackedFormat& format, bool halves, const std::byte* panel, int64_t columns, const float* x,
                int64_t x_stride, int64_t tokens, float* total) {
  const GemvArguments arguments{format, halves, panel, columns, x, x_stride, total};
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
}  // namespace tandem
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
