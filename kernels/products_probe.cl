// A device runs this test before its kernels name an instruction for products of bytes (byte_products.cl). It shows
// that the compiler builds the instruction and that the instruction adds exactly.
//
// Layout: words: uint [17], 16 words of four unsigned codes (BITS 4: below 16) and one word of signed codes; out:
//   int [16].
// Work mapping: one work-item. It adds the products of 8 words, as many as a group has, to -7.
#include "byte_products.cl"
__kernel void products_probe(BUFFER(words), BUFFER(out)) {
  const uint16 codes = vload16(0, PTR(const uint, words));
  Sum sum = start_products(-7);
  for (int i = 0; i < 8; ++i) add_products(&sum, codes, PTR(const uint, words)[16]);
  vstore16(all_products(&sum, -7), 0, PTR(int, out));
}
