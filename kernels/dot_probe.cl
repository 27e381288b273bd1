// A device runs this test before its simt kernels use cl_khr_integer_dot_product. It shows that sums of four products
// of bytes are exact.
//
// Layout: words: uint [n][2], four signed bytes each; out: int [n]. Work mapping: one work-item per case. Limits: none.
__kernel void dot_probe(BUFFER(words), BUFFER(out)) {
  const int i = get_global_id(0);
  __global const uint *two = PTR(const uint, words) + 2 * i;
  PTR(int, out)[i] = dot_4x8packed_ss_int(two[0], two[1]);
}
