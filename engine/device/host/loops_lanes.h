// 16 lanes of f32 and what the contract does with them. Internal to the loops files: everything is static and inlined.
//
// The compilers' vector type carries +, *, / and comparisons on every machine; only fma and half conversions name
// instructions.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define LANES_INLINE static inline __attribute__((always_inline, unused))

namespace tandem::host {
namespace {

typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t Words __attribute__((vector_size(64)));
typedef float LooseLanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef int8_t SignedBytes __attribute__((vector_size(16)));

LANES_INLINE Lanes load(const float* p) { return *reinterpret_cast<const LooseLanes*>(p); }
LANES_INLINE void store(float* p, Lanes v) { *reinterpret_cast<LooseLanes*>(p) = v; }
LANES_INLINE Lanes all(float value) { return Lanes{} + value; }
LANES_INLINE Lanes select(Words mask, Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>((reinterpret_cast<Words>(a) & mask) | (reinterpret_cast<Words>(b) & ~mask));
}

#if defined(__AVX512F__)
LANES_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
  return reinterpret_cast<Lanes>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
}
LANES_INLINE Lanes from_halves(const uint16_t* p) {
  return reinterpret_cast<Lanes>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
LANES_INLINE Lanes round_f16(Lanes v) {
  return reinterpret_cast<Lanes>(_mm512_cvtph_ps(_mm512_cvtps_ph(reinterpret_cast<__m512>(v), 0)));
}
#elif defined(__AVX2__) && defined(__FMA__)
struct Halves {
  __m256 low, high;
};
LANES_INLINE Halves split(Lanes v) {
  Halves halves;
  std::memcpy(&halves, &v, sizeof v);
  return halves;
}
LANES_INLINE Lanes join(__m256 low, __m256 high) {
  const Halves halves{low, high};
  Lanes v;
  std::memcpy(&v, &halves, sizeof v);
  return v;
}
LANES_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
  const Halves x = split(a), y = split(b), z = split(c);
  return join(_mm256_fmadd_ps(x.low, y.low, z.low), _mm256_fmadd_ps(x.high, y.high, z.high));
}
LANES_INLINE Lanes from_halves(const uint16_t* p) {
  return join(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
              _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8))));
}
LANES_INLINE Lanes round_f16(Lanes v) {
  const Halves x = split(v);
  return join(_mm256_cvtph_ps(_mm256_cvtps_ph(x.low, 0)), _mm256_cvtph_ps(_mm256_cvtps_ph(x.high, 0)));
}
#else
LANES_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
  for (int i = 0; i < 16; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
LANES_INLINE Lanes from_halves(const uint16_t* p) {
  Lanes v = {};
  for (int i = 0; i < 16; ++i) v[i] = half_to_float(p[i]);
  return v;
}
LANES_INLINE Lanes round_f16(Lanes v) {
  for (int i = 0; i < 16; ++i) v[i] = half_to_float(float_to_half(v[i]));
  return v;
}
#endif

LANES_INLINE Lanes from_bf16(const uint16_t* p) {
  Words words = {};
  for (int i = 0; i < 16; ++i) words[i] = static_cast<int32_t>(static_cast<uint32_t>(p[i]) << 16);
  return reinterpret_cast<Lanes>(words);
}
LANES_INLINE Words from_bytes(const uint8_t* p) {
  Bytes bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, Words);
}
LANES_INLINE Words from_signed(const int8_t* p) {
  SignedBytes bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, Words);
}
LANES_INLINE Lanes to_float(Words words) { return __builtin_convertvector(words, Lanes); }

// The first `count` (< 16) values; the other lanes are `fill`, and memory past the count is not touched.
LANES_INLINE Lanes load_part(const float* p, int64_t count, float fill) {
  Lanes v = all(fill);
  for (int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
LANES_INLINE void store_part(float* p, Lanes v, int64_t count) {
  for (int64_t i = 0; i < count; ++i) p[i] = v[i];
}

// The trees of the bit rules: halves folded onto each other, 16 -> 8 -> 4 -> 2 -> 1.
LANES_INLINE float sum_lanes(Lanes v) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] = v[i] + v[i + half];
  return v[0];
}
LANES_INLINE Lanes larger(Lanes a, Lanes b) { return select(b > a, b, a); }
LANES_INLINE float largest_lane(Lanes v) {
  float top = v[0];
  for (int i = 1; i < 16; ++i) top = v[i] > top ? v[i] : top;
  return top;
}

// e^x by the written-out polynomial of docs/numbers.md: x = n ln 2 + r in two parts, e^r = 1 + r + r^2 P(r), n into the
// exponent.
LANES_INLINE Lanes exp(Lanes x) {
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
  p = fma(p, r * r, r) + 1.0f;
  typedef uint32_t Bits __attribute__((vector_size(64)));  // shifts of negative words are not defined for signed ones
  const Bits bits = reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23);
  const Lanes e = select(x > 88.7228f, all(__builtin_inff()), reinterpret_cast<Lanes>(bits));
  return select(x < -87.33f, Lanes{}, e);
}

}  // namespace
}  // namespace tandem::host
