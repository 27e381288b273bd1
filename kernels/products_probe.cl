// What a device proves before its kernels name an instruction for products of bytes (byte_products.cl): that it builds it, and that it adds
// exactly.
//
// Layout: words: uint [17], 16 words of four unsigned codes (BITS 4: below 16) and one of signed ones; out: int [16]. Work mapping: one work-item,
// which adds the products of 8 words, as a group has, to -7.
#include "byte_products.cl"
__kernel void products_probe(BUFFER(words), BUFFER(out)) {
  const uint16 codes = vload16(0, AT(const uint, words));
  Sum sum = start_products(-7);
  for (int i = 0; i < 8; ++i) add_products(&sum, codes, AT(const uint, words)[16]);
  vstore16(all_products(&sum, -7), 0, AT(int, out));
}
