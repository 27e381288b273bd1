// What a device proves before its kernels add four products of bytes by vpdpbusd: that it builds the instruction, and that it adds exactly.
//
// Layout: words: uint [17], 16 words of four unsigned codes and one of signed ones; out: int [16]. Work mapping: one work-item.
__kernel void products_probe(BUFFER(words), BUFFER(out)) {
  int16 sum = 7;
  const uint16 codes = vload16(0, AT(const uint, words)), all = (uint16)(AT(const uint, words)[16]);
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(all));
  vstore16(sum, 0, AT(int, out));
}
