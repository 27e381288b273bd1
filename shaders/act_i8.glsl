// 8-bit activations (docs/numbers.md): the layout of codes, for shaders that write or read them. Other shaders include
// this file; it is never built alone.
//
// Layout: a row has K / 32 groups. A group of 32 columns takes 12 words.
//   words 0 to 7    four codes each; byte i of word 2 m + h is column 8 m + 2 i + h.
//   word 8          the scale, f32.
//   words 9 and 10  int sums of the codes of columns 0..15 and of columns 16..31.
//   word 11         unused.
#define ACT_WORDS 12u
#define ACT_SCALE 8u
#define ACT_SUMS 9u
