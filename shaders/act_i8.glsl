// 8-bit activations (docs/numbers.md): the layout that their makers and their readers share. Not a shader of its own; included.
//
// Layout of a group of 32 columns, 12 words: 8 words of four codes, scale (f32), sums of the codes of columns 0..15 and 16..31 (int), nothing.
//   Byte i of word 2 m + h is column 8 m + 2 i + h. A row has K / 32 groups.
#define ACT_WORDS 12u
#define ACT_SCALE 8u
#define ACT_SUMS 9u
