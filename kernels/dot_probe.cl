// A device runs this test before its simt kernels add four products of bytes at once (packed_dot.cl). It shows that the
// sums are exact.
//
// Layout: words: uint [n][2], four signed bytes each; out: int [n]. Work mapping: one work-item per case. Limits: none.
#include "packed_dot.cl"

__kernel void dot_probe(BUFFER(words), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const uint *two = PTR(const uint, words) + 2 * i;
  PTR(int, out)[i] = DOT(two[0], two[1]);
}
