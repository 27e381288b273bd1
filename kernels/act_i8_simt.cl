// Quantises activations on GPUs. Layout and limits are those of act_i8_simd.cl.
//
// Work: dimension 0 is the group of 32 columns, dimension 1 the token, dimension 2 the slot; local size 64.
#include "act_i8.cl"
MAKE_CODES(__global)

__kernel void act_i8_simt(BUFFER(x), BUFFER(codes), const int K, const int slots, const int x_stride, const int x_slot) {
  const int group = get_global_id(0);
  const long s = get_global_id(1), slot = get_global_id(2);
  if (group >= K / 32) return;
  __global const float *from = PTR(const float, x) + s * x_stride + slot * x_slot + group * 32;
  __global uint *to = PTR(uint, codes) + ((s * slots + slot) * (K / 32) + group) * ACT_WORDS;
  make_codes(from, to);
}
