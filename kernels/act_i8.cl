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
