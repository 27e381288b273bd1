// A device runs this test before its simt kernels add four products of bytes at once (packed_dot.cl). It shows that the
// sums are exact, and that an instruction that looks up codes finds what plain C finds.
//
// Layout: words: uint [n][2], four signed bytes each; out: int [n]. Codes that are looked up wrongly change a sum.
// Work mapping: one work-item per case. Limits: none. Option BOOK: code_book.cl.
#include "packed_dot.cl"
#include "code_book.cl"

__kernel void dot_probe(BUFFER(words), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const uint *two = PTR(const uint, words) + 2 * i;
  const uint low = 0x76543210u, high = 0xfedcba98u;
  const uint2 of_low = words_of_codes(low), of_high = words_of_codes(high);
  const bool found = of_low.x == numbers_of(low & 0x0f0f0f0fu) && of_low.y == numbers_of(low >> 4 & 0x0f0f0f0fu) &&
                     of_high.x == numbers_of(high & 0x0f0f0f0fu) && of_high.y == numbers_of(high >> 4 & 0x0f0f0f0fu);
  PTR(int, out)[i] = DOT(two[0], two[1]) + (found ? 0 : 1);
}
