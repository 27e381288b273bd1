// The arguments of every matmul shader; the weights w are binding 0 and declared with their format.
BUFFER(1, float, x);
BUFFER(2, float, y);
layout(push_constant) uniform Args {
  uint w_offset, x_offset, y_offset;
  uint panel_bytes;
  int K, row_begin, row_end, x_stride, y_stride;
#ifdef KERNEL_matmul_gemm
  int S;
#endif
};
