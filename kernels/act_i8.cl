// 8-bit activations (docs/numbers.md): what kernels of both families share. Not a source of its own; included.
//
// Layout of a group of 32 columns, 12 words: 8 words of four codes, scale (f32), sums of the codes of columns 0..15 and 16..31 (int), nothing.
//   Byte i of word 2 m + h is column 8 m + 2 i + h. A row has K / 32 groups.
#define ACT_WORDS 12
#define ACT_SCALE 8
#define ACT_SUMS 9
#define NOT_A_NUMBER 0x7fc00000u
#define SMALLEST_ACT 0x1p-100f

// What the group's largest magnitude, as its bits, makes of it: the scale and the factor of its values, 0: all codes are zero.
INLINE float act_factor(const int largest, float *scale) {
  const float magnitude = as_float(largest);
  const bool finite = largest < 0x7f800000;
  const bool counts = finite && magnitude >= SMALLEST_ACT;
  *scale = counts ? magnitude / 127.0f : finite ? 0.0f : as_float(NOT_A_NUMBER);
  return counts ? 127.0f / magnitude : 0.0f;
}
