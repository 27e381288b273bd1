// 16 lanes of f32 and the operations that the contract needs on them. Internal to the loops files: everything is static
// and inlined.
//
// The lanes are made of as many compiler vectors as the machine's registers need. Compiler vectors have +, *, / and
// comparisons on every machine. Only fma and the conversions of halves name instructions. (One 64-byte vector
// type for all machines is 100 times slower with AVX2. gcc 12 keeps vectors wider than a register in memory and takes
// them apart into scalars.)
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "packed/half.h"

#define LANES_INLINE static inline __attribute__((always_inline, unused))
#define EACH_PART _Pragma("GCC unroll 4") for (int i = 0; i < kParts; ++i)

namespace tandem::host {
namespace {

#if defined(__AVX512F__)
constexpr int kPartLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int kPartLanes = 8;
#else
constexpr int kPartLanes = 4;
#endif
constexpr int kParts = 16 / kPartLanes;

typedef float Part __attribute__((vector_size(4 * kPartLanes)));
typedef int32_t WordPart __attribute__((vector_size(4 * kPartLanes)));
typedef uint32_t BitPart __attribute__((vector_size(4 * kPartLanes)));

struct Lanes {
  Part p[kParts];
};
struct Words {
  WordPart p[kParts];
};

LANES_INLINE Lanes load(const float* from) {
  Lanes v;
  EACH_PART std::memcpy(&v.p[i], from + kPartLanes * i, sizeof(Part));
  return v;
}
LANES_INLINE void store(float* to, Lanes v) { EACH_PART std::memcpy(to + kPartLanes * i, &v.p[i], sizeof(Part)); }
// Subtracting 0 keeps -0 (adding it does not), and the broadcast is the only instruction.
LANES_INLINE Lanes all(float value) {
  Lanes v;
  EACH_PART v.p[i] = value - Part{};
  return v;
}

LANES_INLINE Lanes operator+(Lanes a, Lanes b) {
  EACH_PART a.p[i] += b.p[i];
  return a;
}
LANES_INLINE Lanes operator-(Lanes a, Lanes b) {
  EACH_PART a.p[i] -= b.p[i];
  return a;
}
LANES_INLINE Lanes operator*(Lanes a, Lanes b) {
  EACH_PART a.p[i] *= b.p[i];
  return a;
}
LANES_INLINE Lanes operator/(Lanes a, Lanes b) {
  EACH_PART a.p[i] /= b.p[i];
  return a;
}
LANES_INLINE Lanes operator-(Lanes a) {
  EACH_PART a.p[i] = -a.p[i];
  return a;
}
LANES_INLINE Words operator>(Lanes a, Lanes b) {
  Words words;
  EACH_PART words.p[i] = a.p[i] > b.p[i];
  return words;
}
LANES_INLINE Words greater(Words a, int32_t b) {
  EACH_PART a.p[i] = a.p[i] > b;
  return a;
}
LANES_INLINE Lanes select(Words mask, Lanes a, Lanes b) {
  EACH_PART a.p[i] = mask.p[i] ? a.p[i] : b.p[i];
  return a;
}
LANES_INLINE Words counting_from(int32_t first) {
  int32_t words[16];
  for (int n = 0; n < 16; ++n) words[n] = first + n;
  Words v;
  std::memcpy(&v, words, sizeof v);
  return v;
}

// |from - to|, |from - (to + 1)|, ...; exact below 2^24.
LANES_INLINE Lanes distances(int32_t from, int32_t to) {
  const Words places = counting_from(to);
  Lanes v;
  EACH_PART {
    const WordPart apart = from - places.p[i];
    v.p[i] = __builtin_convertvector(apart < 0 ? -apart : apart, Part);
  }
  return v;
}

#if defined(__AVX512F__)
LANES_INLINE Part fma_part(Part a, Part b, Part c) {
  return reinterpret_cast<Part>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
}
LANES_INLINE Part part_from_halves(const uint16_t* from) {
  return reinterpret_cast<Part>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
}
LANES_INLINE void halves_from_part(uint16_t* to, Part v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(reinterpret_cast<__m512>(v), 0));
}
LANES_INLINE Part round_part(Part v) {
  return reinterpret_cast<Part>(_mm512_cvtph_ps(_mm512_cvtps_ph(reinterpret_cast<__m512>(v), 0)));
}
#elif defined(__AVX2__) && defined(__FMA__)
LANES_INLINE Part fma_part(Part a, Part b, Part c) {
  return reinterpret_cast<Part>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
}
LANES_INLINE Part part_from_halves(const uint16_t* from) {
  return reinterpret_cast<Part>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
LANES_INLINE void halves_from_part(uint16_t* to, Part v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(reinterpret_cast<__m256>(v), 0));
}
LANES_INLINE Part round_part(Part v) {
  return reinterpret_cast<Part>(_mm256_cvtph_ps(_mm256_cvtps_ph(reinterpret_cast<__m256>(v), 0)));
}
#else
LANES_INLINE Part fma_part(Part a, Part b, Part c) {
  for (int n = 0; n < kPartLanes; ++n) c[n] = __builtin_fmaf(a[n], b[n], c[n]);
  return c;
}
LANES_INLINE Part part_from_halves(const uint16_t* from) {
  Part v = {};
  for (int n = 0; n < kPartLanes; ++n) v[n] = half_to_float(from[n]);
  return v;
}
LANES_INLINE void halves_from_part(uint16_t* to, Part v) {
  for (int n = 0; n < kPartLanes; ++n) to[n] = float_to_half(v[n]);
}
LANES_INLINE Part round_part(Part v) {
  for (int n = 0; n < kPartLanes; ++n) v[n] = half_to_float(float_to_half(v[n]));
  return v;
}
#endif

LANES_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
  EACH_PART c.p[i] = fma_part(a.p[i], b.p[i], c.p[i]);
  return c;
}
LANES_INLINE Lanes from_halves(const uint16_t* from) {
  Lanes v;
  EACH_PART v.p[i] = part_from_halves(from + kPartLanes * i);
  return v;
}
LANES_INLINE void store_halves(uint16_t* to, Lanes v) { EACH_PART halves_from_part(to + kPartLanes * i, v.p[i]); }
LANES_INLINE Lanes round_f16(Lanes v) {
  EACH_PART v.p[i] = round_part(v.p[i]);
  return v;
}
// The first `count` (< 16) values. The other lanes are `fill`, and memory behind `count` values is not touched.
LANES_INLINE Lanes load_part(const float* from, int64_t count, float fill) {
  float lanes[16];
  for (int64_t n = 0; n < 16; ++n) lanes[n] = n < count ? from[n] : fill;
  return load(lanes);
}
LANES_INLINE void store_part(float* to, Lanes v, int64_t count) {
  float lanes[16];
  store(lanes, v);
  for (int64_t n = 0; n < count; ++n) to[n] = lanes[n];
}

// The trees of the bit rules: halves are folded onto each other, 64 -> 32 -> ... -> 1. The last steps use vectors of 4,
// which every machine has.
typedef float Quarter __attribute__((vector_size(16)));
LANES_INLINE float sum_lanes(Lanes v) {
  Quarter q[4];
  std::memcpy(q, &v, sizeof v);
  const Quarter sums = (q[0] + q[2]) + (q[1] + q[3]);
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}
// The 64 lane sums along a row: elements i, i + 64, ... in ascending order make lane i, and part j has lanes 16 j to
// 16 j + 15.
struct RowSums {
  Lanes parts[4];
};
LANES_INLINE RowSums no_sums() { return {{all(0.0f), all(0.0f), all(0.0f), all(0.0f)}}; }
LANES_INLINE float sum_row(RowSums sums) {
  return sum_lanes((sums.parts[0] + sums.parts[2]) + (sums.parts[1] + sums.parts[3]));
}
// Calls step(i, sums of the elements i to i + 15) for i = 0, 16, ... below `count`.
template <typename Step>
LANES_INLINE void each_part_of_row(int64_t count, RowSums& sums, Step step) {
  for (int64_t i = 0; i < count; i += 64) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      if (i + 16 * j >= count) break;
      step(i + 16 * j, sums.parts[j]);
    }
  }
}
LANES_INLINE Lanes larger(Lanes a, Lanes b) { return select(b > a, b, a); }
LANES_INLINE float largest_lane(Lanes v) {  // no use depends on which of two equal zeros this returns
  Quarter q[4];
  std::memcpy(q, &v, sizeof v);
  const Quarter a = q[2] > q[0] ? q[2] : q[0], b = q[3] > q[1] ? q[3] : q[1], tops = b > a ? b : a;
  const float even = tops[2] > tops[0] ? tops[2] : tops[0], odd = tops[3] > tops[1] ? tops[3] : tops[1];
  return odd > even ? odd : even;
}

// e^x by the polynomial that docs/numbers.md writes out, for x <= 0: x = n ln 2 + r in two parts, e^r = 1 + r + r^2
// P(r). n is added to the exponent.
LANES_INLINE Lanes exp_of_none_above_0(Lanes x) {
  const Lanes magic = all(12582912.0f);  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Lanes shifted = fma(x, all(1.44269504f), magic);
  const Lanes n = shifted - magic;
  const Lanes r = fma(n, all(2.12194440e-4f), fma(n, all(-0.693359375f), x));
  Lanes p = all(1.9875691500e-4f);
  p = fma(p, r, all(1.3981999507e-3f));
  p = fma(p, r, all(8.3334519073e-3f));
  p = fma(p, r, all(4.1665795894e-2f));
  p = fma(p, r, all(1.6666665459e-1f));
  p = fma(p, r, all(5.0000001201e-1f));
  p = fma(p, r * r, r) + all(1.0f);
  Lanes e;
  EACH_PART e.p[i] =
      reinterpret_cast<Part>(reinterpret_cast<BitPart>(p.p[i]) + (reinterpret_cast<BitPart>(shifted.p[i]) << 23));
  return select(all(-87.33f) > x, all(0.0f), e);
}
LANES_INLINE Lanes exp(Lanes x) { return select(x > all(88.7228f), all(__builtin_inff()), exp_of_none_above_0(x)); }

// cap * tanh(x / cap), by tanh(u) = 1 - 2 / (1 + exp(2 u)).
LANES_INLINE Lanes soft_cap(Lanes x, float cap) {
  return all(cap) * (all(1.0f) - all(2.0f) / (all(1.0f) + exp(x / all(cap) * all(2.0f))));
}

}  // namespace
}  // namespace tandem::host
