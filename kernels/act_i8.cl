// 8-bit activations (docs/numbers.md): the parts that kernels of both families share. Other kernels include this file;
// it is never built alone.
//
// Layout: a row has K / 32 groups. A group of 32 columns takes 12 words.
//   words 0 to 7    four codes each; byte i of word 2 m + h is column 8 m + 2 i + h.
//   word 8          the scale, f32.
//   words 9 and 10  int sums of the codes of columns 0..15 and of columns 16..31.
//   word 11         unused.
#define ACT_WORDS 12
#define ACT_SCALE 8
#define ACT_SUMS 9
#define NOT_A_NUMBER 0x7fc00000u
#define SMALLEST_ACT 0x1p-100f

// Computes a group's scale, and returns the factor that turns its values into codes. `largest` holds the bits of the
// group's largest magnitude.
// A factor of 0 means that all codes are zero.
INLINE float act_factor(const int largest, float *scale) {
  const float magnitude = as_float(largest);
  const bool finite = largest < 0x7f800000;
  const bool counts = finite && magnitude >= SMALLEST_ACT;
  *scale = counts ? magnitude / 127.0f : finite ? 0.0f : as_float(NOT_A_NUMBER);
  return counts ? 127.0f / magnitude : 0.0f;
}

// MAKE_CODES(space) defines make_codes(from, to): it turns 32 values in this address space into a group's words.
// A value is rounded by adding 1.5 * 2^23 (12582912) and reading the low bits, which is exact below 2^22.
#define MAKE_CODES(space)                                                                \
  INLINE void make_codes(space const float *from, __global uint *to) {                   \
    int largest = 0;                                                                     \
    for (int k = 0; k < 32; ++k) largest = max(largest, as_int(from[k]) & 0x7fffffff);   \
    float scale;                                                                         \
    const float factor = act_factor(largest, &scale);                                    \
    int sums[2] = {0, 0};                                                                \
    for (int word = 0; word < 8; ++word) {                                               \
      uint four = 0;                                                                     \
      for (int i = 0; i < 4 && factor != 0.0f; ++i) {                                    \
        const float scaled = from[word / 2 * 8 + 2 * i + word % 2] * factor;             \
        const int code = as_int(scaled + 12582912.0f) - 0x4b400000;                      \
        sums[word / 4] += code;                                                          \
        four |= (uint)(code & 255) << 8 * i;                                             \
      }                                                                                  \
      to[word] = four;                                                                   \
    }                                                                                    \
    to[ACT_SCALE] = as_uint(scale);                                                      \
    to[ACT_SUMS] = (uint)sums[0];                                                        \
    to[ACT_SUMS + 1] = (uint)sums[1];                                                    \
  }
