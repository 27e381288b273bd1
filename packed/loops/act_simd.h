// One variant of the loops for 8-bit activations on x86. The including file defines its table's name and is compiled
// for its instructions. Everything here is static, because files that are compiled for fewer instructions must not
// share it.
//
// The loops decode some tiles of a panel at a time, mostly eight. Each word then holds four codes of a row, as the
// products need them. This changes the order of rows, and their scales and sums follow it until the results leave.
// Place 16 i + 4 l + b holds row 16 b + 4 l + i with 4-bit codes, because three unpacks bring bytes of one word
// together. With 8-bit codes it holds row 16 l + 4 i + b.
//
// These are intrinsics, where the exact loops use Highway. With Highway's vector types gcc 12 adds first products to
// zeros and spills more registers: 0.81 to 0.98 times as fast with AVX2 (Zen 3). Highway 1.0 lacks AVX-VNNI, AMX.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "packed/loops/act_loops.h"
#include "packed/loops/codes.h"
#include "packed/runs.h"
#include "packed/tiles.h"

#define ACT_INLINE static inline __attribute__((always_inline, unused))

namespace tandem {
namespace {

constexpr int kRows = 64, kQuads = 8;

template <Codes kCodes>
constexpr bool kSmall = kCodes == Codes::nibbles;  // no number above 15

#if defined(__AVX512VNNI__)
typedef __m512i Ints;
typedef __m512 Floats;
constexpr InstructionSet kSet = InstructionSet::avx512;
constexpr int kLanes = 16, kVectors = 4, kTokens = 3;  // 12 sums and 12 chains in 32 registers
ACT_INLINE Ints load_ints(const void* from) { return _mm512_loadu_si512(from); }
ACT_INLINE void store_ints(void* to, Ints v) { _mm512_storeu_si512(to, v); }
ACT_INLINE Ints all_words(int32_t word) { return _mm512_set1_epi32(word); }
ACT_INLINE Ints all_bytes(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
ACT_INLINE Ints bit_and(Ints a, Ints b) { return _mm512_and_si512(a, b); }
ACT_INLINE Ints bit_xor(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
ACT_INLINE Ints high_nibbles(Ints v) { return _mm512_and_si512(_mm512_srli_epi16(v, 4), all_bytes(15)); }
ACT_INLINE Ints in_all_quarters(__m128i bytes) { return _mm512_broadcast_i32x4(bytes); }
ACT_INLINE Ints bytes_at(Ints table, Ints places) { return _mm512_shuffle_epi8(table, places); }
ACT_INLINE Ints low_bytes(Ints a, Ints b) { return _mm512_unpacklo_epi8(a, b); }
ACT_INLINE Ints high_bytes(Ints a, Ints b) { return _mm512_unpackhi_epi8(a, b); }
ACT_INLINE Ints low_pairs(Ints a, Ints b) { return _mm512_unpacklo_epi16(a, b); }
ACT_INLINE Ints high_pairs(Ints a, Ints b) { return _mm512_unpackhi_epi16(a, b); }
ACT_INLINE Floats load_floats(const float* from) { return _mm512_loadu_ps(from); }
ACT_INLINE void store_floats(float* to, Floats v) { _mm512_storeu_ps(to, v); }
ACT_INLINE Floats all_floats(float value) { return _mm512_set1_ps(value); }
ACT_INLINE Floats product(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
ACT_INLINE Floats sum_of(Floats a, Floats b) { return _mm512_add_ps(a, b); }
ACT_INLINE Floats fmadd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
ACT_INLINE Floats to_floats(Ints v) { return _mm512_cvtepi32_ps(v); }
ACT_INLINE Ints dot(Ints sum, Ints codes, Ints x) { return _mm512_dpbusd_epi32(sum, codes, x); }
#define ACT_HAS_DOT 1
#else
typedef __m256i Ints;
typedef __m256 Floats;
constexpr InstructionSet kSet = InstructionSet::avx2;
constexpr int kLanes = 8, kVectors = 2;
ACT_INLINE Ints load_ints(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
ACT_INLINE void store_ints(void* to, Ints v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
ACT_INLINE Ints all_words(int32_t word) { return _mm256_set1_epi32(word); }
ACT_INLINE Ints all_bytes(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
ACT_INLINE Ints bit_and(Ints a, Ints b) { return _mm256_and_si256(a, b); }
ACT_INLINE Ints bit_xor(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
ACT_INLINE Ints high_nibbles(Ints v) { return _mm256_and_si256(_mm256_srli_epi16(v, 4), all_bytes(15)); }
ACT_INLINE Ints in_all_quarters(__m128i bytes) { return _mm256_broadcastsi128_si256(bytes); }
ACT_INLINE Ints bytes_at(Ints table, Ints places) { return _mm256_shuffle_epi8(table, places); }
ACT_INLINE Ints low_bytes(Ints a, Ints b) { return _mm256_unpacklo_epi8(a, b); }
ACT_INLINE Ints high_bytes(Ints a, Ints b) { return _mm256_unpackhi_epi8(a, b); }
ACT_INLINE Ints low_pairs(Ints a, Ints b) { return _mm256_unpacklo_epi16(a, b); }
ACT_INLINE Ints high_pairs(Ints a, Ints b) { return _mm256_unpackhi_epi16(a, b); }
ACT_INLINE Floats load_floats(const float* from) { return _mm256_loadu_ps(from); }
ACT_INLINE void store_floats(float* to, Floats v) { _mm256_storeu_ps(to, v); }
ACT_INLINE Floats all_floats(float value) { return _mm256_set1_ps(value); }
ACT_INLINE Floats product(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
ACT_INLINE Floats sum_of(Floats a, Floats b) { return _mm256_add_ps(a, b); }
ACT_INLINE Floats fmadd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
ACT_INLINE Floats to_floats(Ints v) { return _mm256_cvtepi32_ps(v); }
#if defined(__AVXVNNI__)
ACT_INLINE Ints dot(Ints sum, Ints codes, Ints x) { return _mm256_dpbusd_avx_epi32(sum, codes, x); }
#define ACT_HAS_DOT 1
constexpr int kTokens = 2;
#else
#define ACT_HAS_DOT 0
#endif
#endif

// Four codes of a token in all lanes: as bytes, or as 16-bit numbers, the even and the odd ones apart.
struct ByteQuad {
  Ints even, odd;
};

// The integer sums of one vector of rows over a group.
template <Codes kCodes>
struct GroupSum {
#if ACT_HAS_DOT
  // The codes are unsigned; `start` corrects a sum for the offset.
  static constexpr int kPlanes = 1, kTogether = kTokens;
  static constexpr bool kWide = false;
  Ints sum;
  ACT_INLINE GroupSum begun(Ints start) { return {start}; }
  ACT_INLINE void accumulate(GroupSum& self, Ints codes, Ints, ByteQuad x) { self.sum = dot(self.sum, codes, x.even); }
  ACT_INLINE Ints ended(const GroupSum& self, Ints) { return self.sum; }
#else
  // Products of unsigned and signed bytes are added in pairs, in 16 bits, which saturate. Two nibbles of 15 and codes
  // of 127 make 3,810. A group has at most eight such pairs in a lane, which make 30,480.
  // With 8-bit codes a pair would be too large. So they are multiplied as 16-bit numbers, and pairs are added in 32
  // bits. One plane has the even bytes, another one the odd ones. The empty assembly keeps products from being computed
  // ahead of their sums: 16 registers leave room for 6 sums.
  static constexpr int kPlanes = kSmall<kCodes> ? 1 : 2, kTogether = 3;
  static constexpr bool kWide = !kSmall<kCodes>;
  Ints sum;  // with 4-bit codes: sums of pairs, in 16 bits
  ACT_INLINE GroupSum begun(Ints) { return {_mm256_setzero_si256()}; }
  ACT_INLINE void accumulate(GroupSum& self, Ints codes, Ints odd, ByteQuad x) {
    self.sum = kSmall<kCodes> ? _mm256_add_epi16(self.sum, _mm256_maddubs_epi16(codes, x.even))
                              : _mm256_add_epi32(self.sum, _mm256_madd_epi16(codes, x.even));
    __asm__("" : "+x"(self.sum));
    if (kSmall<kCodes>) return;
    self.sum = _mm256_add_epi32(self.sum, _mm256_madd_epi16(odd, x.odd));
    __asm__("" : "+x"(self.sum));
  }
  ACT_INLINE Ints ended(const GroupSum& self, Ints start) {
    return kSmall<kCodes> ? _mm256_add_epi32(start, _mm256_madd_epi16(self.sum, _mm256_set1_epi16(1))) : self.sum;
  }
#endif
};

#if !ACT_HAS_DOT
ACT_INLINE ByteQuad widened(Ints bytes) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}
#endif
template <Codes kCodes>
constexpr int kPlanes = GroupSum<kCodes>::kPlanes;
constexpr int kChunkPlanes = 8;  // 16 KiB: half of the smallest L1 cache
template <Codes kCodes>
constexpr int kChunkTiles = kChunkPlanes / kPlanes<kCodes>;

struct RowScales {
  alignas(64) float scale[kRows], min[kRows];
};
// Tiles [first, end) of a chunk that lie in one run of columns. The run may begin and end outside of the chunk.
struct ChunkPart {
  int first, end;
  bool begins_run, ends_run;
};
struct Chunk {
  alignas(64) uint8_t codes[kChunkPlanes][kQuads][kRows * 4];  // a tile has one plane or two
  RowScales groups[2 * kChunkPlanes];
  int parts;
  ChunkPart part[kChunkPlanes];
};

// Writes to[place] = the value of the row at that place, four neighbouring rows at a time. The order is its
// own inverse.
template <Codes kCodes, typename Four>
ACT_INLINE void reorder(const Four& four_of, float* to) {
  for (int l = 0; l < 4; ++l) {
    if (kFourBits<kCodes>) {
      __m128 a = four_of(4 * l), b = four_of(16 + 4 * l), c = four_of(32 + 4 * l), d = four_of(48 + 4 * l);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      _mm_storeu_ps(to + 4 * l, a);
      _mm_storeu_ps(to + 16 + 4 * l, b);
      _mm_storeu_ps(to + 32 + 4 * l, c);
      _mm_storeu_ps(to + 48 + 4 * l, d);
    } else {
      for (int i = 0; i < 4; ++i) _mm_storeu_ps(to + 16 * i + 4 * l, four_of(16 * l + 4 * i));
    }
  }
}

ACT_INLINE __m128 four_halves(const uint16_t* from) {
  return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
ACT_INLINE __m128i four_bytes(const void* from) {
  int32_t word;
  std::memcpy(&word, from, sizeof word);
  return _mm_cvtsi32_si128(word);
}

template <Codes kCodes>
ACT_INLINE void read_scales(const PackedFormat& format, const TileView& view, int g, RowScales& to) {
  const int first = g * kRows;
  const bool with_min = format.min == MinKind::explicit_;
  if (format.scale == ScaleKind::half) {
    reorder<kCodes>([&](int row) { return four_halves(view.scale + first + row); }, to.scale);
    if (with_min) reorder<kCodes>([&](int row) { return four_halves(view.minimum + first + row); }, to.min);
    return;
  }
  const auto scale_of = [&](int row) {
    return _mm_mul_ps(_mm_mul_ps(four_halves(view.scale + row), _mm_set1_ps(format.scale_step())),
                      _mm_cvtepi32_ps(_mm_cvtepi8_epi32(four_bytes(view.sub_scale + first + row))));
  };
  const auto min_of = [&](int row) {
    const __m128 min = _mm_mul_ps(four_halves(view.minimum + row),
                                  _mm_cvtepi32_ps(_mm_cvtepu8_epi32(four_bytes(view.sub_minimum + first + row))));
    return _mm_xor_ps(min, _mm_set1_ps(-0.0F));
  };
  reorder<kCodes>(scale_of, to.scale);
  if (with_min) reorder<kCodes>(min_of, to.min);
}

// Turns four vectors of bytes into four vectors of words that have one byte of each.
ACT_INLINE void interleave_4x4(Ints v[4]) {
  const Ints a = low_bytes(v[0], v[1]), b = high_bytes(v[0], v[1]), c = low_bytes(v[2], v[3]),
             d = high_bytes(v[2], v[3]);
  v[0] = low_pairs(a, c);
  v[1] = high_pairs(a, c);
  v[2] = low_pairs(b, d);
  v[3] = high_pairs(b, d);
}

constexpr int kWidth = static_cast<int>(sizeof(Ints)), kParts = kRows / kWidth;  // vectors in 64 bytes

// The numbers of the codes in the even columns of pairs, or in the odd ones. Numbers of a code book are signed. `table`
// is the book, or with instructions for unsigned bytes the book plus 128.
ACT_INLINE Ints book_table(const PackedFormat& format) {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(format.book_values()));
  return in_all_quarters(ACT_HAS_DOT ? _mm_xor_si128(values, _mm_set1_epi8(-128)) : values);
}
template <Codes kCodes>
ACT_INLINE Ints even_codes(Ints pairs, Ints table) {
  const Ints places = bit_and(pairs, all_bytes(15));
  return kCodes == Codes::book ? bytes_at(table, places) : places;
}
template <Codes kCodes>
ACT_INLINE Ints odd_codes(Ints pairs, Ints table) {
  return kCodes == Codes::book ? bytes_at(table, high_nibbles(pairs)) : high_nibbles(pairs);
}

// Stores a vector of words of a quad: as bytes, or as two planes of 16-bit numbers less `zero`.
template <Codes kCodes>
ACT_INLINE void store_quad(Ints words, [[maybe_unused]] int zero, uint8_t (*to)[kRows * 4], int quad, int at) {
#if !ACT_HAS_DOT
  if (GroupSum<kCodes>::kWide) {
    const ByteQuad wide = widened(words);
    const Ints zeros = _mm256_set1_epi16(static_cast<int16_t>(zero));
    store_ints(to[quad] + at, _mm256_sub_epi16(wide.even, zeros));
    store_ints(to[kQuads + quad] + at, _mm256_sub_epi16(wide.odd, zeros));
    return;
  }
#endif
  store_ints(to[quad] + at, words);
}

template <Codes kCodes>
ACT_INLINE void read_four_bits(const uint8_t* from, Ints table, uint8_t (*to)[kRows * 4]) {
  for (int m = 0; m < 4; ++m)
    for (int part = 0; part < kParts; ++part) {
      Ints v[4];
      for (int j = 0; j < 4; ++j) v[j] = load_ints(from + (4 * m + j) * kRows + part * kWidth);
      interleave_4x4(v);
      for (int i = 0; i < 4; ++i) {
        store_quad<kCodes>(even_codes<kCodes>(v[i], table), 0, to, 2 * m, i * kRows + part * kWidth);
        store_quad<kCodes>(odd_codes<kCodes>(v[i], table), 0, to, 2 * m + 1, i * kRows + part * kWidth);
      }
    }
}

// Makes signed codes unsigned by adding 128, or makes two planes of 16-bit codes minus the zero point.
ACT_INLINE void read_eight_bits(const uint8_t* from, int zero_point, uint8_t (*to)[kRows * 4]) {
  for (int quad = 0; quad < kQuads; ++quad)
    for (int part = 0; part < kParts; ++part) {
      Ints v[4];
      for (int j = 0; j < 4; ++j) {
        const int k = quad / 2 * 8 + 2 * j + quad % 2;
        v[j] = load_ints(from + k * kRows + part * kWidth);
      }
      interleave_4x4(v);
      for (int i = 0; i < 4; ++i) {
        const Ints words = ACT_HAS_DOT ? bit_xor(v[i], all_bytes(128)) : v[i];
        store_quad<Codes::bytes>(words, zero_point, to, quad, i * kRows + part * kWidth);
      }
    }
}

constexpr int kAheadBytes = 8192, kScaleBytes = 256;

// Prefetches to the L2 cache: the chunk fills L1, and a prefetch would evict it or be evicted. It includes the scales
// in front of the codes, since tiles follow each other.
template <Codes kCodes>
ACT_INLINE void fetch_ahead(const uint8_t* codes) {
  constexpr int kBytes = kFourBits<kCodes> ? 1024 : 2048, kSecondCache = 2;
  for (int line = -kScaleBytes; line < kBytes; line += 64)
    __builtin_prefetch(codes + line + kAheadBytes, 0, kSecondCache);
}

template <Codes kCodes>
ACT_INLINE void read_tile(const PackedFormat& format, const TilesOfPanel& panel, int64_t tile, int groups, int at,
                          Chunk& to) {
  const TileView view = panel.at(tile);
  fetch_ahead<kCodes>(view.codes);
  for (int g = 0; g < groups; ++g) read_scales<kCodes>(format, view, g, to.groups[at * groups + g]);
  if (kFourBits<kCodes>)
    read_four_bits<kCodes>(view.codes, book_table(format), to.codes[at * kPlanes<kCodes>]);
  else
    read_eight_bits(view.codes, format.zero_point, to.codes[at * kPlanes<kCodes>]);
}

// Cuts a chunk of `count` tiles from `first` on where runs end. `run` is the first tile's run, and then the run of the
// tile behind the chunk.
ACT_INLINE void cut_into_parts(int64_t first, int count, ColumnRun& run, Chunk& chunk) {
  chunk.parts = 0;
  for (int at = 0; at < count; ++chunk.parts) {
    const bool begins = first + at == run.first_column() / kTileColumns;
    const int64_t left = run.end_column() / kTileColumns - first;
    const bool ends = left <= count;
    chunk.part[chunk.parts] = {at, ends ? static_cast<int>(left) : count, begins, ends};
    at = chunk.part[chunk.parts].end;
    if (ends) run.next();
  }
}

// The offset of unsigned codes. A sum of products is too large by this offset times the sum of the activations' codes.
template <Codes kCodes>
ACT_INLINE int bias_of(const PackedFormat& format) {
  if (GroupSum<kCodes>::kWide) return 0;
  return format.zero_point + (kSmall<kCodes> ? 0 : 128);
}

#if ACT_HAS_DOT
template <int tokens, typename Wide>
ACT_INLINE void widen(const ActBlock*, int64_t, const ChunkPart&, Wide&) {}
#else
template <int tokens, typename Wide>
ACT_INLINE void widen(const ActBlock* x, int64_t x_stride, const ChunkPart& part, Wide& to) {
  for (int t = 0; t < tokens; ++t)
    for (int tile = part.first; tile < part.end; ++tile) {
      const ByteQuad wide = widened(load_ints(x[t * x_stride + tile].codes));
      store_ints(to[t][tile][0], wide.even);
      store_ints(to[t][tile][1], wide.odd);
    }
}
#endif

// The sums of tokens [t, place]: those of the run that a chunk's tiles belong to, and the totals of the runs before.
struct ActSums {
  float *run, *total;
  ACT_INLINE ActSums of_token(const ActSums& sums, int64_t token) {
    return {sums.run + token * kRows, sums.total + token * kRows};
  }
};

// Adds a part of a chunk to the sums, with kVectors vectors of rows in registers at a time.
template <Codes kCodes, bool kWithMin, int kGroups, int tokens>
ACT_INLINE void accumulate(const Chunk& chunk, const ChunkPart& part, int bias, const ActBlock* x, int64_t x_stride,
                           const ActSums& sums) {
  constexpr int kOfGroup = kQuads / kGroups;
  int32_t wide[GroupSum<kCodes>::kWide ? tokens : 1][kChunkTiles<kCodes>][2][kQuads];
  if (GroupSum<kCodes>::kWide) widen<tokens>(x, x_stride, part, wide);
  for (int first = 0; first < kRows; first += kVectors * kLanes) {
    Floats acc[tokens][kVectors];
#pragma GCC unroll 8
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        acc[t][v] = part.begins_run ? all_floats(0) : load_floats(sums.run + t * kRows + first + v * kLanes);
    for (int tile = part.first; tile < part.end; ++tile)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        const RowScales& scales = chunk.groups[tile * kGroups + g];
        GroupSum<kCodes> sum[tokens][kVectors];
        int32_t codes_of[tokens];
#pragma GCC unroll 8
        for (int t = 0; t < tokens; ++t) {
          const ActBlock& block = x[t * x_stride + tile];
          codes_of[t] = kGroups == 1 ? block.sums[0] + block.sums[1] : block.sums[g];
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sum[t][v] = GroupSum<kCodes>::begun(all_words(-bias * codes_of[t]));
        }
#pragma GCC unroll 8
        for (int q = 0; q < kOfGroup; ++q) {
          const int quad = g * kOfGroup + q;
          Ints low[kVectors], high[kVectors];
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) {
            constexpr int kLast = kPlanes<kCodes> - 1;
            const int at = (first + v * kLanes) * 4;
            low[v] = load_ints(chunk.codes[tile * kPlanes<kCodes>][quad] + at);
            __asm__("" : "+v"(low[v]));  // or gcc loads the codes again for each token
            high[v] = low[v];
            if (kLast > 0) high[v] = load_ints(chunk.codes[tile * kPlanes<kCodes> + kLast][quad] + at);
          }
#pragma GCC unroll 8
          for (int t = 0; t < tokens; ++t) {
            int32_t words[2];
            if (GroupSum<kCodes>::kWide)
              words[0] = wide[t][tile][0][quad], words[1] = wide[t][tile][1][quad];
            else
              std::memcpy(words, x[t * x_stride + tile].codes + 4 * quad, sizeof words[0]), words[1] = words[0];
            const ByteQuad four{all_words(words[0]), all_words(words[1])};
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) GroupSum<kCodes>::accumulate(sum[t][v], low[v], high[v], four);
          }
        }
#pragma GCC unroll 8
        for (int t = 0; t < tokens; ++t) {
          const float scale = x[t * x_stride + tile].scale;
          const Ints start = all_words(-bias * codes_of[t]);
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) {
            const int at = first + v * kLanes;
            const Floats both = product(load_floats(scales.scale + at), all_floats(scale));
            acc[t][v] = fmadd(to_floats(GroupSum<kCodes>::ended(sum[t][v], start)), both, acc[t][v]);
            if (kWithMin)
              acc[t][v] =
                  fmadd(load_floats(scales.min + at), all_floats(scale * static_cast<float>(codes_of[t])), acc[t][v]);
          }
        }
      }
#pragma GCC unroll 8
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int at = t * kRows + first + v * kLanes;
        if (part.ends_run)
          store_floats(sums.total + at, sum_of(load_floats(sums.total + at), acc[t][v]));
        else
          store_floats(sums.run + at, acc[t][v]);
      }
  }
}

#if !defined(__AMX_INT8__)
// Returns the number of tokens that a faster way than accumulate() has accumulated; none here.
template <Codes kCodes, bool kWithMin, int kGroups>
ACT_INLINE int64_t take_in_many(const Chunk&, int, int, const ActBlock*, int64_t, int64_t, const ActSums&) {
  return 0;
}
#else
}  // namespace
}  // namespace tandem
#include "packed/loops/act_amx.h"
namespace tandem {
namespace {
#endif

// How many of the remaining tokens pass together: at most `most`. If four remain and `most` is three, two pass, because
// one token alone takes nearly as long.
ACT_INLINE int64_t tokens_at_once(int64_t left, int most) {
  return most == 3 && left == 4 ? 2 : left < most ? left : most;
}

template <Codes kCodes, bool kWithMin, int kGroups>
ACT_INLINE void take_in_all(const Chunk& chunk, int tiles, int bias, const ActBlock* x, int64_t x_stride,
                            int64_t tokens, const ActSums& sums) {
  int64_t s = take_in_many<kCodes, kWithMin, kGroups>(chunk, tiles, bias, x, x_stride, tokens, sums);
  constexpr int kTogether = GroupSum<kCodes>::kTogether;
  while (s < tokens) {
    const int64_t now = tokens_at_once(tokens - s, kTogether);
    const ActBlock* from = x + s * x_stride;
    const ActSums to = ActSums::of_token(sums, s);
    for (int i = 0; i < chunk.parts; ++i) {
      const ChunkPart& part = chunk.part[i];
      if (now == 1) accumulate<kCodes, kWithMin, kGroups, 1>(chunk, part, bias, from, x_stride, to);
      if (now == 2) accumulate<kCodes, kWithMin, kGroups, 2>(chunk, part, bias, from, x_stride, to);
      if constexpr (kTogether == 3) {
        if (now == 3) accumulate<kCodes, kWithMin, kGroups, 3>(chunk, part, bias, from, x_stride, to);
      }
    }
    s += now;
  }
}

#if defined(__AVX512VNNI__)
// Does the same as reorder() above, in registers.
template <Codes kCodes>
ACT_INLINE void reorder(Floats v[4]) {
  if (kFourBits<kCodes>) {  // four by four words of each quarter
    const Floats a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]),
                 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(a, c, 0x44);
    v[1] = _mm512_shuffle_ps(a, c, 0xee);
    v[2] = _mm512_shuffle_ps(b, d, 0x44);
    v[3] = _mm512_shuffle_ps(b, d, 0xee);
  } else {  // four by four quarters
    const Floats a = _mm512_shuffle_f32x4(v[0], v[1], 0x44), b = _mm512_shuffle_f32x4(v[0], v[1], 0xee),
                 c = _mm512_shuffle_f32x4(v[2], v[3], 0x44), d = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_f32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_f32x4(a, c, 0xdd);
    v[2] = _mm512_shuffle_f32x4(b, d, 0x88);
    v[3] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}
ACT_INLINE Floats halves_of(const uint16_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
ACT_INLINE __m128i sixteen_bytes(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

// Computes the numbers that read_scales() writes, in registers.
template <Codes kCodes, bool kWithMin>
ACT_INLINE void scales_of(const PackedFormat& format, const TileView& view, int g, Floats scale[4], Floats min[4]) {
  const int first = g * kRows;
  const bool halves = format.scale == ScaleKind::half;
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const int at = first + v * kLanes;
    scale[v] = halves ? halves_of(view.scale + at)
                      : product(product(halves_of(view.scale + v * kLanes), all_floats(format.scale_step())),
                                to_floats(_mm512_cvtepi8_epi32(sixteen_bytes(view.sub_scale + at))));
    if (!kWithMin) continue;
    min[v] =
        halves
            ? halves_of(view.minimum + at)
            : _mm512_castsi512_ps(bit_xor(
                  _mm512_castps_si512(product(halves_of(view.minimum + v * kLanes),
                                              to_floats(_mm512_cvtepu8_epi32(sixteen_bytes(view.sub_minimum + at))))),
                  all_words(static_cast<int32_t>(0x80000000U))));
  }
  reorder<kCodes>(scale);
  if (kWithMin) reorder<kCodes>(min);
}

// Multiplies up to three tokens. Codes stay in registers, and a tile is multiplied as it is read. It needs 12 sums and
// 12 chains in 32 registers.
template <Codes kCodes, bool kWithMin, int kGroups, int tokens>
ACT_INLINE void multiply_small_batch(const ActPanel& args, int64_t first) {
  const PackedFormat& format = *args.format;
  const int64_t tiles = args.columns / kTileColumns;
  const ActBlock* x = args.x + first * tiles;
  const TilesOfPanel panel(format, args.panel);
  const int bias = bias_of<kCodes>(format);
  const Ints table = book_table(format);
  Floats acc[tokens][4];
  Floats totals[tokens][4];
#pragma GCC unroll 3
  for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) totals[t][i] = all_floats(0);
  for (ColumnRun run(args.columns); run.is_valid(); run.next()) {
#pragma GCC unroll 3
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) acc[t][i] = all_floats(0);
    for (int64_t tile = run.first_column() / kTileColumns; tile < run.end_column() / kTileColumns; ++tile, ++x) {
      const TileView view = panel.at(tile);
      if (first == 0) fetch_ahead<kCodes>(view.codes);
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        int32_t codes[tokens];
        Ints sum[tokens][4];
#pragma GCC unroll 3
        for (int t = 0; t < tokens; ++t) {
          const ActBlock& block = x[t * tiles];
          codes[t] = kGroups == 1 ? block.sums[0] + block.sums[1] : block.sums[g];
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) sum[t][i] = all_words(-bias * codes[t]);
        }
        constexpr int kQuadsAtOnce = kFourBits<kCodes> ? 2 : 1;
#pragma GCC unroll 8
        for (int q = 0; q < kQuads / kGroups; q += kQuadsAtOnce) {
          const int quad = g * (kQuads / kGroups) + q;
          Ints v[4];
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j)
            v[j] = kFourBits<kCodes>
                       ? load_ints(view.codes + (2 * quad + j) * kRows)
                       : bit_xor(load_ints(view.codes + (quad / 2 * 8 + 2 * j + quad % 2) * kRows), all_bytes(128));
          interleave_4x4(v);
#pragma GCC unroll 3
          for (int t = 0; t < tokens; ++t) {
            int32_t words[2];
            std::memcpy(words, x[t * tiles].codes + 4 * quad, sizeof(int32_t) * kQuadsAtOnce);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
              const Ints first_codes = kFourBits<kCodes> ? even_codes<kCodes>(v[i], table) : v[i];
              sum[t][i] = dot(sum[t][i], first_codes, all_words(words[0]));
              if (kFourBits<kCodes>) sum[t][i] = dot(sum[t][i], odd_codes<kCodes>(v[i], table), all_words(words[1]));
            }
          }
        }
        Floats scale[4], min[4];
        scales_of<kCodes, kWithMin>(format, view, g, scale, min);
#pragma GCC unroll 3
        for (int t = 0; t < tokens; ++t) {
          const float of_x = x[t * tiles].scale;
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            acc[t][i] = fmadd(to_floats(sum[t][i]), product(scale[i], all_floats(of_x)), acc[t][i]);
            if (kWithMin) acc[t][i] = fmadd(min[i], all_floats(of_x * static_cast<float>(codes[t])), acc[t][i]);
          }
        }
      }
    }
#pragma GCC unroll 3
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) totals[t][i] = sum_of(totals[t][i], acc[t][i]);
  }
#pragma GCC unroll 3
  for (int t = 0; t < tokens; ++t) {
    reorder<kCodes>(totals[t]);  // back to the order of rows: it is its own inverse
    float* y = args.y + (first + t) * args.y_stride;
    float in_order[kRows];
    float* to = args.rows == kRows ? y : in_order;
    for (int i = 0; i < 4; ++i) store_floats(to + i * kLanes, totals[t][i]);
    if (args.rows < kRows) std::memcpy(y, in_order, static_cast<size_t>(args.rows) * sizeof(float));
  }
}

// Not inlined, since gcc takes some of these calls for cold and then gives their loops fewer registers.
template <Codes kCodes, bool kWithMin, int kGroups>
__attribute__((noinline)) void multiply_in_registers(const ActPanel& args) {
  for (int64_t s = 0; s < args.tokens;) {
    const int64_t now = tokens_at_once(args.tokens - s, 3);
    if (now == 3) multiply_small_batch<kCodes, kWithMin, kGroups, 3>(args, s);
    if (now == 2) multiply_small_batch<kCodes, kWithMin, kGroups, 2>(args, s);
    if (now == 1) multiply_small_batch<kCodes, kWithMin, kGroups, 1>(args, s);
    s += now;
  }
}

// The most tokens that are multiplied in registers. For more, or with matrix units, a chunk that is unpacked once is
// as fast.
#if defined(__AMX_INT8__)
constexpr int64_t kMostInRegisters = 1;
#else
constexpr int64_t kMostInRegisters = 9;
#endif
#endif

// Multiplies a panel with all tokens. Few tokens run in registers where the instructions allow it. More tokens share
// chunks of unpacked tiles: sums are in args.sums, and the totals leave in the order of rows at the end.
template <Codes kCodes>
void multiply(const ActPanel& args) {
  const PackedFormat& format = *args.format;
  const int64_t tiles = args.columns / kTileColumns;
  const int groups = format.group == 16 ? 2 : 1, bias = bias_of<kCodes>(format);
  constexpr bool kMayHaveMin = kCodes != Codes::book;  // fewer combinations to compile
  const bool with_min = kMayHaveMin && format.min == MinKind::explicit_;
#if defined(__AVX512VNNI__)
  if (args.tokens <= kMostInRegisters) {
    if (groups == 1)
      with_min ? multiply_in_registers<kCodes, kMayHaveMin, 1>(args) : multiply_in_registers<kCodes, false, 1>(args);
    else
      with_min ? multiply_in_registers<kCodes, kMayHaveMin, 2>(args) : multiply_in_registers<kCodes, false, 2>(args);
    return;
  }
#endif
  const ActSums sums = {args.sums, args.sums + args.tokens * kRows};
  std::memset(sums.total, 0, static_cast<size_t>(args.tokens) * kRows * sizeof(float));
  Chunk chunk;
  const TilesOfPanel panel(format, args.panel);
  constexpr int kMost = kChunkTiles<kCodes>;
  ColumnRun run(args.columns);
  for (int64_t first = 0; first < tiles; first += kMost) {
    const int count = static_cast<int>(tiles - first < kMost ? tiles - first : kMost);
    for (int t = 0; t < count; ++t) read_tile<kCodes>(format, panel, first + t, groups, t, chunk);
    cut_into_parts(first, count, run, chunk);
    const ActBlock* x = args.x + first;
    if (groups == 1 && with_min)
      take_in_all<kCodes, kMayHaveMin, 1>(chunk, count, bias, x, tiles, args.tokens, sums);
    else if (groups == 1)
      take_in_all<kCodes, false, 1>(chunk, count, bias, x, tiles, args.tokens, sums);
    else if (with_min)
      take_in_all<kCodes, kMayHaveMin, 2>(chunk, count, bias, x, tiles, args.tokens, sums);
    else
      take_in_all<kCodes, false, 2>(chunk, count, bias, x, tiles, args.tokens, sums);
  }
  for (int64_t s = 0; s < args.tokens; ++s) {
    const float* from = sums.total + s * kRows;
    float* y = args.y + s * args.y_stride;
    float in_order[kRows];
    reorder<kCodes>([&](int row) { return _mm_loadu_ps(from + row); }, args.rows == kRows ? y : in_order);
    if (args.rows < kRows) std::memcpy(y, in_order, static_cast<size_t>(args.rows) * sizeof(float));
  }
}

#if !defined(__AMX_INT8__)
// Latency times throughput is at most 10 (5 cycles, two a cycle). Pairs are added to their sums in one cycle.
constexpr int kPeakChains = ACT_HAS_DOT ? 12 : 6;
constexpr int64_t kPeakProducts = int64_t{kPeakChains} * static_cast<int64_t>(sizeof(Ints));
// A chain of 16-bit sums can hold this many rounds; each round adds 2 * 3 * 2.
constexpr int64_t kRoundsInShorts = 2048;

ACT_INLINE int64_t sum_of_all(Ints v) {
  alignas(64) int32_t words[kLanes];
  store_ints(words, v);
  int64_t sum = 0;
  for (const int32_t word : words) sum += word;
  return sum;
}

int64_t peak(int64_t rounds) {
  Ints codes = all_bytes(3), x = all_bytes(2);
  int64_t sum = 0;
  while (rounds > 0) {
    const int64_t now = rounds < kRoundsInShorts ? rounds : kRoundsInShorts;
    GroupSum<Codes::nibbles> chains[kPeakChains];
#pragma GCC unroll 12
    for (int i = 0; i < kPeakChains; ++i) chains[i] = GroupSum<Codes::nibbles>::begun(all_words(0));
    for (int64_t round = 0; round < now; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < kPeakChains; ++i) {
        __asm__("" : "+v"(x));  // without it the compiler would compute one product for all chains
        GroupSum<Codes::nibbles>::accumulate(chains[i], codes, codes, {x, x});
      }
    }
    for (int i = 0; i < kPeakChains; ++i) sum += sum_of_all(GroupSum<Codes::nibbles>::ended(chains[i], all_words(0)));
    rounds -= now;
  }
  return sum;
}
#endif

void multiply_panel(const ActPanel& args) {
  if (args.format->book != CodeBook::none) return multiply<Codes::book>(args);
  args.format->kind == PackedKind::i4 ? multiply<Codes::nibbles>(args) : multiply<Codes::bytes>(args);
}

// The quantiser works on eight values of a group at a time; its rules are those of packed/act_i8.cpp.
ACT_INLINE int32_t largest_word(__m256i v) {
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
ACT_INLINE int32_t sum_of_words(__m256i v) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

void quantise(const float* x, int64_t columns, ActBlock* to) {
  const __m256i even_first =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
  for (int64_t k = 0; k < columns; k += kActGroup, ++to) {
    __m256 v[4];
    __m256i largest = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm256_loadu_ps(x + k + 8 * i);
      largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v[i]), _mm256_set1_epi32(0x7fffffff)));
    }
    const int32_t bits = largest_word(largest);
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    const bool finite = bits < 0x7f800000;
    if (!finite || magnitude < kSmallestActMagnitude) {
      std::memset(to, 0, sizeof *to);
      if (!finite) to->scale = __builtin_nanf("");
      continue;
    }
    to->scale = magnitude / 127.0F;
    const __m256 inverse = _mm256_set1_ps(127.0F / magnitude);
    __m256i words[4];
    for (int i = 0; i < 4; ++i) words[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
    to->sums[0] = sum_of_words(_mm256_add_epi32(words[0], words[1]));
    to->sums[1] = sum_of_words(_mm256_add_epi32(words[2], words[3]));
    to->unused = 0;
    // Packing works on halves of 128 bits: words 0..3 of the four vectors, then words 4..7.

    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(words[0], words[1]), _mm256_packs_epi32(words[2], words[3]));
    const __m256i in_order = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to->codes), _mm256_shuffle_epi8(in_order, even_first));
  }
}

}  // namespace

extern const ActLoops ACT_TABLE;
const ActLoops ACT_TABLE = {ACT_NAME, kSet, quantise, multiply_panel, kPeakProducts, peak};

}  // namespace tandem
