// Multiplies a panel of packed weights with few tokens. exact_simd.cpp compiles it once for each instruction set.
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

// The most tokens of a group, whose sums stay in registers. Further groups find the packed weights in L1.
constexpr int kGroup = HWY_TARGET == HWY_AVX3 ? 6 : 4;
// Each group decodes weights anew. Beyond so many tokens a decoded tile in L1 costs less. Dense weights cost next to
// nothing to decode, codes a multiply-add. With AVX2 codes cost more, and the registers hold fewer sums.
constexpr int64_t kDenseTokens = HWY_TARGET == HWY_AVX3 ? 16 : 8, kCodeTokens = HWY_TARGET == HWY_AVX3 ? 8 : kGroup;
static_assert(kDenseTokens <= kGemvTokens && kCodeTokens <= kGemvTokens);
constexpr int64_t kPieceColumns = 2 * kResidentColumns;  // that one group passes before the next one does

// Vectors of rows that are multiplied together. The sums take kCount * kVectors of the registers, of which AVX-512 has
// 32 and AVX2 has 16.
template <int kCount>
constexpr int kVectors = HWY_TARGET == HWY_AVX3 || kCount <= 2 ? 4 : 2;

// Columns [first, end) of a run for one group of tokens.
struct Piece {
  int64_t first, end;
  const float* x;      // of the group's first token, and column 0
  float *run, *total;  // the sums of this run and of those before, [tokens of the group][64]
  bool begins, ends;   // the run begins or ends with this piece
  ColumnRun* runs;     // the runs that follow, for a group that is alone; nullptr: the piece is all

  // Goes on to the next run. Calls for each run would cost a single token 5 %.
  HWY_INLINE bool next() {
    if (runs == nullptr) return false;
    runs->next();
    if (!runs->is_valid()) return false;
    first = runs->first_column(), end = runs->end_column();
    return true;
  }
};

// The sums of `kCount` tokens; vectors of rows are kApart rows apart.
template <int kCount, int64_t kApart = kLanes>
struct Sums {
  static constexpr int kRowVectors = kVectors<kCount>;
  Vec acc[kCount][kRowVectors];

  HWY_INLINE void begin(const Piece& piece, int64_t row) {
    const float* run = piece.run + row;
    const bool begins = piece.begins;
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v)
        acc[s][v] = begins ? hn::Zero(F()) : hn::Load(F(), run + s * kPanelRows + v * kApart);
    }
  }
  HWY_INLINE void leave(const Piece& piece, int64_t row) const {
    if (piece.ends) return store<true>(piece.total + row);
    store<false>(piece.run + row);
  }
  template <bool kAdds>
  HWY_INLINE void store(float* to) const {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) {
      TANDEM_UNROLL
      for (int v = 0; v < kRowVectors; ++v) {
        float* at = to + s * kPanelRows + v * kApart;
        hn::Store(kAdds ? hn::Add(hn::Load(F(), at), acc[s][v]) : acc[s][v], F(), at);
      }
    }
  }
  HWY_INLINE void add(int v, Vec w, const float* x, int64_t x_stride) {
    TANDEM_UNROLL
    for (int s = 0; s < kCount; ++s) acc[s][v] = hn::MulAdd(w, hn::Set(F(), x[s * x_stride]), acc[s][v]);
  }
  HWY_INLINE void add(const Vec (&w)[kRowVectors], const float* x, int64_t x_stride) {
    TANDEM_UNROLL
    for (int v = 0; v < kRowVectors; ++v) add(v, w[v], x, x_stride);
  }
};

struct GemvArguments {
  const PackedFormat& format;
  bool offsets;  // codes become floats behind an exponent, where takes_offsets() says that they can
  const std::byte* panel;
  int64_t columns;
  const float* x;
  int64_t x_stride, tokens;
  float* total;
};

// Weights of four bits, straight from memory: the hottest loop of decode steps. A vector of words is four vectors of
// rows, one for each byte. So a weight costs two cheap operations beside the two multiply-adds, on other pipes. A pass
// takes the bytes from kFirst on.
constexpr int kWordBytes = 4;
static_assert(kWordBytes * kWordRows == kPanelRows);
template <int kCount>
using WordSums = Sums<kCount, kWordRows>;
template <int kCount>
using WordAffine = Affine<kVectors<kCount>>;  // its scales are multiplied by of_byte()

#if HWY_TARGET == HWY_AVX2
struct NibbleMasks {
  alignas(32) uint32_t lanes[kWordBytes][8] = {};
  constexpr NibbleMasks() {
    for (int byte = 0; byte < kWordBytes; ++byte)
      for (uint32_t& lane : lanes[byte]) lane = 15u << 8 * byte;
  }
};
#endif

// The mask of a byte's low nibble. With AVX2 it comes from memory: all registers are in use, and gcc would build the
// masks anew for every group.
HWY_INLINE auto nibble_mask(int byte) {
#if HWY_TARGET == HWY_AVX2
  static constexpr NibbleMasks kMasks;
  return hn::BitCast(I(), hn::Load(hn::RebindToUnsigned<I>(), kMasks.lanes[byte]));
#else
  return hn::Set(I(), 15 << 8 * byte);
#endif
}

// Adds one column of a vector of words.
template <int kCount, bool kWithMin, int kFirst>
HWY_INLINE void add_column(hn::Vec<I> words, const WordAffine<kCount>& affine, const float* x, int64_t x_stride,
                           WordSums<kCount>& sums) {
  TANDEM_UNROLL
  for (int v = 0; v < kVectors<kCount>; ++v) {
    const Vec q = hn::ConvertTo(F(), hn::And(words, nibble_mask(kFirst + v)));
    sums.add(v, apply<kWithMin>(q, affine.scale[v], affine.minimum[v]), x, x_stride);
  }
}

#if HWY_TARGET == HWY_AVX3
// One operation (vpternlog) turns a code into a float if the code is at bit 16 or 12 of its word. Behind the exponent
// of 128 or 2048 it reads as 128 + q or 2048 + q. Then fma(128 + q, scale, min - 128 scale) rounds the same number as
// fma(q, scale, min), if min - 128 scale is exact.
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

template <int kRowVectors>
struct OffsetAffine {
  Vec scale[kRowVectors], even[kRowVectors], odd[kRowVectors];  // min - 128 scale, min - 2048 scale
};

template <int kRowVectors>
HWY_INLINE OffsetAffine<kRowVectors> with_offsets(const Affine<kRowVectors>& affine) {
  OffsetAffine<kRowVectors> offsets;
  TANDEM_UNROLL
  for (int v = 0; v < kRowVectors; ++v) {
    offsets.scale[v] = affine.scale[v];
    offsets.even[v] = hn::NegMulAdd(affine.scale[v], hn::Set(F(), 128.0f), affine.minimum[v]);
    offsets.odd[v] = hn::NegMulAdd(affine.scale[v], hn::Set(F(), 2048.0f), affine.minimum[v]);
  }
  return offsets;
}

HWY_INLINE Vec offset_code(hn::Vec<I> words, int32_t mask, int32_t offset) {
  return hn::BitCast(F(), hn::Or(hn::And(words, hn::Set(I(), mask)), hn::Set(I(), offset)));
}

// The words with the codes of byte `byte` at bit 16. A load that begins up to two bytes earlier moves the codes up
// by as many bytes, so the load does the shift. The bytes in front of a tile's codes are its scales.
HWY_INLINE hn::Vec<I> words_of_byte(const uint8_t* codes, int byte) {
  if (byte <= 2) return load_words(codes - 2 + byte, 0);
  const auto bits = hn::BitCast(hn::RebindToUnsigned<I>(), load_words(codes, 0));
  return hn::BitCast(I(), byte == 3 ? hn::ShiftRight<8>(bits) : hn::ShiftRight<16>(bits));
}

// Adds two columns.
template <int kCount, int kFirst>
HWY_INLINE void add_pair(const uint8_t* codes, const OffsetAffine<kVectors<kCount>>& affine, const float* x,
                         int64_t x_stride, WordSums<kCount>& sums) {
  constexpr int kRowVectors = kVectors<kCount>;
  hn::Vec<I> at[kRowVectors + 1];
  TANDEM_UNROLL
  for (int v = 0; v <= kRowVectors; ++v) at[v] = words_of_byte(codes, kFirst + v);
  TANDEM_UNROLL
  for (int v = 0; v < kRowVectors; ++v)
    sums.add(v, hn::MulAdd(offset_code(at[v], kAt16, k128), affine.scale[v], affine.even[v]), x, x_stride);
  TANDEM_UNROLL
  for (int v = 0; v < kRowVectors; ++v)
    sums.add(v, hn::MulAdd(offset_code(at[v + 1], kAt12, k2048), affine.scale[v], affine.odd[v]), x + 1, x_stride);
}
#endif

// Adds one column of a vector of words whose codes are places in a code book.
template <int kCount, int kFirst>
HWY_INLINE void add_book_column(hn::Vec<I> words, const BookTable& book, const WordAffine<kCount>& affine,
                                const float* x, int64_t x_stride, WordSums<kCount>& sums) {
  TANDEM_UNROLL
  for (int v = 0; v < kVectors<kCount>; ++v)
    sums.add(v, hn::Mul(book.at(byte_down(words, kFirst + v)), affine.scale[v]), x, x_stride);
}

// Adds one group of columns to the sums of the rows in the words from `row` on.
template <int kCount, Codes kCodes, bool kWithMin, int kFirst>
HWY_INLINE void gemv_i4_group(const GemvArguments& g, const TileView& view, int64_t group, const float* x, int64_t row,
                              WordSums<kCount>& sums) {
  constexpr int kRowVectors = kVectors<kCount>;
  constexpr int64_t kPasses = kPanelRows / (kRowVectors * kLanes);  // each of them prefetches its share of the lines
  const int64_t pairs = g.format.group / 2, pass = row / kLanes * (kWordBytes / kRowVectors) + kFirst / kRowVectors;
  const uint8_t* codes = view.codes + group * pairs * kPanelRows;
  prefetch(view.scale + group * kPanelRows + row * kWordBytes);
  prefetch(view.minimum + group * kPanelRows + row * kWordBytes);
  WordAffine<kCount> affine;
  load_affine<kRowVectors, kWordRows>(g.format, view, group, row + kFirst * kWordRows, affine);
  if constexpr (kCodes == Codes::book) {
    const BookTable book(g.format);
    for (int64_t pair = 0; pair < pairs; pair += kPasses) {
      prefetch(codes + pass * kPanelRows);
      TANDEM_UNROLL
      for (int64_t i = 0; i < kPasses; ++i, codes += kPanelRows, x += 2) {
        const auto words = load_words(codes, row);
        add_book_column<kCount, kFirst>(words, book, affine, x, g.x_stride, sums);
        add_book_column<kCount, kFirst>(odd_columns(words), book, affine, x + 1, g.x_stride, sums);
      }
    }
    return;
  }
#if HWY_TARGET == HWY_AVX3
  if (kWithMin && g.offsets && takes_offsets(g.format, view, group)) {
    const OffsetAffine<kRowVectors> offsets = with_offsets(affine);
    for (int64_t pair = 0; pair < pairs; ++pair, codes += kPanelRows, x += 2) {
      prefetch(codes);
      add_pair<kCount, kFirst>(codes, offsets, x, g.x_stride, sums);
    }
    return;
  }
#endif
  TANDEM_UNROLL
  for (int v = 0; v < kRowVectors; ++v) affine.scale[v] = hn::Mul(affine.scale[v], of_byte(kFirst + v));
  for (int64_t pair = 0; pair < pairs; pair += kPasses) {
    prefetch(codes + pass * kPanelRows);
    TANDEM_UNROLL
    for (int64_t i = 0; i < kPasses; ++i, codes += kPanelRows, x += 2) {
      const auto words = load_words(codes, row);
      add_column<kCount, kWithMin, kFirst>(words, affine, x, g.x_stride, sums);
      add_column<kCount, kWithMin, kFirst>(odd_columns(words), affine, x + 1, g.x_stride, sums);
    }
  }
}

template <int kCount, Codes kCodes, bool kWithMin, int kFirst>
HWY_INLINE void gemv_i4_words(const GemvArguments& g, const TilesOfPanel& panel, const Piece& piece, int64_t row) {
  WordSums<kCount> sums;
  sums.begin(piece, row + kFirst * kWordRows);
  for (int64_t column = piece.first; column < piece.end; column += kTileColumns) {
    const TileView view = panel.at(column / kTileColumns);
    for (int64_t group = 0; group < g.format.groups(); ++group)
      gemv_i4_group<kCount, kCodes, kWithMin, kFirst>(g, view, group, piece.x + column + group * g.format.group, row,
                                                      sums);
  }
  sums.leave(piece, row + kFirst * kWordRows);
}

// The kernels are functions of their own: inlined, gcc takes some for cold and does not align their loops.
template <int kCount, Codes kCodes, bool kWithMin>
HWY_NOINLINE void gemv_i4(const GemvArguments& g, Piece piece) {
  const TilesOfPanel panel(g.format, g.panel);
  do {
    for (int64_t row = 0; row < kWordRows; row += kLanes) {
      gemv_i4_words<kCount, kCodes, kWithMin, 0>(g, panel, piece, row);
      if constexpr (kVectors<kCount> == 2) gemv_i4_words<kCount, kCodes, kWithMin, 2>(g, panel, piece, row);
    }
  } while (piece.next());
}

template <int kCount, bool kWithMin>
HWY_NOINLINE void gemv_i8(const GemvArguments& g, Piece piece) {
  constexpr int kRowVectors = kVectors<kCount>;
  const TilesOfPanel panel(g.format, g.panel);
  do {
    for (int64_t row = 0; row < kPanelRows; row += kRowVectors * kLanes) {
      Sums<kCount> sums;
      sums.begin(piece, row);
      for (int64_t column = piece.first; column < piece.end; column += kTileColumns) {
        const TileView view = panel.at(column / kTileColumns);
        decode_codes<kRowVectors, true, Codes::bytes, kWithMin>(
            g.format, view, row,
            [&](int64_t k, const Vec(&w)[kRowVectors]) HWY_ATTR { sums.add(w, piece.x + column + k, g.x_stride); });
      }
      sums.leave(piece, row);
    }
  } while (piece.next());
}

template <int kCount, PackedKind kKind, bool kHalves>
HWY_NOINLINE void gemv_dense(const GemvArguments& g, Piece piece) {
  constexpr int kRowVectors = kVectors<kCount>;
  do {
    for (int64_t row = 0; row < kPanelRows; row += kRowVectors * kLanes) {
      Sums<kCount> sums;
      sums.begin(piece, row);
      for (int64_t column = piece.first; column < piece.end; column += kResidentColumns) {
        const int64_t left = piece.end - column, count = left < kResidentColumns ? left : kResidentColumns;
        decode_dense<kRowVectors, true, kKind, kHalves>(
            g.panel, column, count, row,
            [&](int64_t k, const Vec(&w)[kRowVectors]) HWY_ATTR { sums.add(w, piece.x + column + k, g.x_stride); });
      }
      sums.leave(piece, row);
    }
  } while (piece.next());
}

// Calls kernel.operator()<kCount>() for a group of so many tokens.
template <int kMost = kGroup, typename Kernel>
HWY_INLINE void with_count(int64_t tokens, const Kernel& kernel) {
  if (tokens == kMost) return kernel.template operator()<kMost>();
  if constexpr (kMost > 1) with_count<kMost - 1>(tokens, kernel);
}

// Groups are about equally large.
template <typename Kernel>
HWY_INLINE void gemv_groups(const GemvArguments& g, const Kernel& kernel) {
  ColumnRun run(g.columns);
  const int64_t groups = (g.tokens + kGroup - 1) / kGroup;
  if (groups == 1) return kernel(g.tokens, Piece{0, run.end_column(), g.x, g.total, g.total, true, true, &run});
  alignas(64) float run_sums[kGemvTokens * kPanelRows];
  for (; run.is_valid(); run.next())
    for (int64_t first = run.first_column(), end = run.end_column(); first < end; first += kPieceColumns)
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t token = g.tokens * group / groups, count = g.tokens * (group + 1) / groups - token;
        const int64_t last = first + kPieceColumns < end ? first + kPieceColumns : end, at = token * kPanelRows;
        kernel(count, Piece{first, last, g.x + token * g.x_stride, run_sums + at, g.total + at,
                            first == run.first_column(), last == end, nullptr});
      }
}

struct GemvCodes {
  const GemvArguments& arguments;
  template <Codes kCodes, bool kWithMin>
  void operator()() const {
    gemv_groups(arguments, [&](int64_t count, const Piece& piece) HWY_ATTR {
      with_count(count, [&]<int kCount>() HWY_ATTR {
        if constexpr (kCodes != Codes::bytes) {
          gemv_i4<kCount, kCodes, kWithMin>(arguments, piece);
        } else {
          gemv_i8<kCount, kWithMin>(arguments, piece);
        }
      });
    });
  }
};

struct GemvDense {
  const GemvArguments& arguments;
  template <PackedKind kKind, bool kHalves>
  void operator()() const {
    gemv_groups(arguments, [&](int64_t count, const Piece& piece) HWY_ATTR {
      with_count(count, [&]<int kCount>() HWY_ATTR { gemv_dense<kCount, kKind, kHalves>(arguments, piece); });
    });
  }
};

// Only with AVX-512 codes can become floats by offsets.
template <bool kOffsets>
void gemv_panel(const PackedFormat& format, bool halves, const std::byte* panel, int64_t columns, const float* x,
                int64_t x_stride, int64_t tokens, float* total) {
  const GemvArguments arguments{format, kOffsets, panel, columns, x, x_stride, tokens, total};
  for (int64_t i = 0; i < tokens * kPanelRows; ++i) total[i] = 0;
  if (format.dense()) {
    with_dense(format.kind, halves, GemvDense{arguments});
  } else {
    with_codes(format, GemvCodes{arguments});
  }
}
}  // namespace
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tandem
HWY_AFTER_NAMESPACE();

#endif  // once for each instruction set
