// Quantises activations on GPUs. Layout and limits are those of act_i8_simd.cl.
//
// Work: dimension 0 is the group of 32 columns, dimension 1 the token, dimension 2 the slot; local size 64.
#include "act_i8.cl"

__kernel void act_i8_simt(BUFFER(x), BUFFER(codes), const int K, const int slots, const int x_stride, const int x_slot) {
  const int group = get_global_id(0);
  const long s = get_global_id(1), slot = get_global_id(2);
  if (group >= K / 32) return;
  __global const float *from = PTR(const float, x) + s * x_stride + slot * x_slot + group * 32;
  __global uint *to = PTR(uint, codes) + ((s * slots + slot) * (K / 32) + group) * ACT_WORDS;
  int largest = 0;
  for (int k = 0; k < 32; ++k) largest = max(largest, as_int(from[k]) & 0x7fffffff);
  float scale;
  const float factor = act_factor(largest, &scale);
  int sums[2] = {0, 0};
  for (int word = 0; word < 8; ++word) {
    uint four = 0;
    for (int i = 0; i < 4 && factor != 0.0f; ++i) {
      const float scaled = from[word / 2 * 8 + 2 * i + word % 2] * factor;
      const int code = as_int(scaled + 12582912.0f) - 0x4b400000;
      sums[word / 4] += code;
      four |= (uint)(code & 255) << 8 * i;
    }
    to[word] = four;
  }
  to[ACT_SCALE] = as_uint(scale);
  to[ACT_SUMS] = (uint)sums[0];
  to[ACT_SUMS + 1] = (uint)sums[1];
}
