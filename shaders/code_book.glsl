// The numbers that 4-bit codes stand for. Other shaders include this file; it is never built alone.
//
// Constant BOOK (packed/format.h): 0 a code is its own number, 1 twice a float of four bits (E2M1), 2 the values of
// IQ4_NL. Values are signed bytes, and byte i of the four words is the value of code i.
layout(constant_id = 21) const int BOOK = 0;

// Words are chosen one by one: lavapipe chooses wrongly between vectors by a constant.
uint book_word(uint i) {
  if (BOOK == 1) return i < 2u ? (i == 0u ? 0x03020100u : 0x0c080604u) : (i == 2u ? 0xfdfeff00u : 0xf4f8fafcu);
  return i < 2u ? (i == 0u ? 0xbfad9881u : 0xf6eaddcfu) : (i == 2u ? 0x26190d01u : 0x71594535u);
}

// The number of one code.
int number_of(uint code) {
  if (BOOK == 0) return int(code);
  return int(book_word(code / 4u) << (24u - 8u * (code % 4u))) >> 24;
}

// Takes the bytes of b where the mask has ones, else those of a.
uint choose_bytes(uint mask, uint a, uint b) { return a ^ ((a ^ b) & mask); }
uint book_bytes(uint i) { return (book_word(i / 4u) >> 8u * (i % 4u) & 255u) * 0x01010101u; }
uint choose_two(uint mask, uint i) { return choose_bytes(mask, book_bytes(i), book_bytes(i + 1u)); }
uint all_of_byte(uint ones) { return (ones << 8) - ones; }

// The numbers of the four codes in the bytes of a word, as signed bytes. Bit after bit of the codes halves the values that
// are left, so it needs no table in memory.
uint numbers_of(uint codes) {
  if (BOOK == 0) return codes;
  const uint bit0 = all_of_byte(codes & 0x01010101u), bit1 = all_of_byte(codes >> 1 & 0x01010101u);
  const uint bit2 = all_of_byte(codes >> 2 & 0x01010101u), bit3 = all_of_byte(codes >> 3 & 0x01010101u);
  const uint first = choose_bytes(bit1, choose_two(bit0, 0u), choose_two(bit0, 2u));
  const uint second = choose_bytes(bit1, choose_two(bit0, 4u), choose_two(bit0, 6u));
  const uint third = choose_bytes(bit1, choose_two(bit0, 8u), choose_two(bit0, 10u));
  const uint fourth = choose_bytes(bit1, choose_two(bit0, 12u), choose_two(bit0, 14u));
  return choose_bytes(bit3, choose_bytes(bit2, first, second), choose_bytes(bit2, third, fourth));
}
