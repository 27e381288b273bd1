// The numbers that 4-bit codes stand for. Other kernels include this file; it is never built alone.
//
// Options: BOOK (packed/format.h): 0 or undefined: a code is its own number; 1: twice a float of four bits (E2M1); 2: the
// values of IQ4_NL. Values are signed bytes, and byte i of the four words is the value of code i.
// WORDS: the type of words with four codes each; uint if it is undefined. HAS_PACKED_DOT: packed_dot.cl.
#ifndef BOOK
#define BOOK 0
#endif
#ifndef WORDS
#define WORDS uint
#define ONE_ROW 1
#else
#define ONE_ROW 0
#endif
#if BOOK == 1
#define BOOK_WORD(i) ((i) == 0 ? 0x03020100u : (i) == 1 ? 0x0c080604u : (i) == 2 ? 0xfdfeff00u : 0xf4f8fafcu)
#elif BOOK == 2
#define BOOK_WORD(i) ((i) == 0 ? 0xbfad9881u : (i) == 1 ? 0xf6eaddcfu : (i) == 2 ? 0x26190d01u : 0x71594535u)
#endif

#if BOOK
// The number of one code.
INLINE int number_of(const uint code) { return (int)(char)(BOOK_WORD(code / 4) >> 8 * (code % 4) & 255u); }

// The numbers of the codes in the bytes of each word, as signed bytes. Bit after bit of the codes halves the values that
// are left. So it needs no table in memory, which lanes of a vector would read one by one.
#define BOOK_BYTES(i) ((BOOK_WORD((i) / 4) >> 8 * ((i) % 4) & 255u) * 0x01010101u)
#define CHOOSE(bit, a, b) ((a) ^ (((a) ^ (b)) & (bit)))
#define CHOOSE_BYTES(i) CHOOSE(bit0, BOOK_BYTES(i), BOOK_BYTES((i) + 1))
INLINE WORDS numbers_of(const WORDS codes) {
  const WORDS first = codes & 0x01010101u, second = codes >> 1 & 0x01010101u, third = codes >> 2 & 0x01010101u, fourth = codes >> 3 & 0x01010101u;
  const WORDS bit0 = (first << 8) - first, bit1 = (second << 8) - second, bit2 = (third << 8) - third, bit3 = (fourth << 8) - fourth;
  const WORDS low = CHOOSE(bit2, CHOOSE(bit1, CHOOSE_BYTES(0), CHOOSE_BYTES(2)), CHOOSE(bit1, CHOOSE_BYTES(4), CHOOSE_BYTES(6)));
  const WORDS high = CHOOSE(bit2, CHOOSE(bit1, CHOOSE_BYTES(8), CHOOSE_BYTES(10)), CHOOSE(bit1, CHOOSE_BYTES(12), CHOOSE_BYTES(14)));
  return CHOOSE(bit3, low, high);
}
#else
#define number_of(code) ((int)(code))
#define numbers_of(codes) (codes)
#endif

// The numbers of the even and of the odd columns of eight codes of a row, as signed bytes; column j is nibble j.
#if ONE_ROW && BOOK && HAS_PACKED_DOT == 2
// NVIDIA's cards choose four of eight bytes by one instruction. Nibbles of `which` are the places.
INLINE uint bytes_at(const uint a, const uint b, const uint which) {
  uint bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(which));
  return bytes;
}
// The numbers of the lowest four codes. Bit 3 of a code chooses between both halves of the book.
INLINE uint numbers_in_order(const uint codes) {
  const uint places = codes & 0x7777u, halves = 0x3210u + ((codes & 0x8888u) >> 1);
  return bytes_at(bytes_at(BOOK_WORD(0), BOOK_WORD(1), places), bytes_at(BOOK_WORD(2), BOOK_WORD(3), places), halves);
}
INLINE uint2 words_of_codes(const uint eight) {
  const uint first = numbers_in_order(eight), second = numbers_in_order(eight >> 16);
  return (uint2)(bytes_at(first, second, 0x6420u), bytes_at(first, second, 0x7531u));
}
#elif ONE_ROW
INLINE uint2 words_of_codes(const uint eight) { return (uint2)(numbers_of(eight & 0x0f0f0f0fu), numbers_of(eight >> 4 & 0x0f0f0f0fu)); }
#endif
