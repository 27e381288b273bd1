// Writes the keys and values of S tokens to their positions in the cache of one layer, rounded to the cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (nearest even) with -DKV_F16=1, else f32:
//   cache_k [kv_heads][capacity/16][head_dim][16]: position p is lane p % 16 of block p / 16, so that 16 scores are one vector
//   cache_v [kv_heads][capacity][head_dim_v]: one position's values are a row, so that a weighted sum runs along it
// Work: one work-item (local size 1) per token (dimension 0) and KV head (dimension 1).
// Limits: positions[s] < capacity, capacity a multiple of 16.
#ifndef KV_F16
#define KV_F16 1
#endif
#if KV_F16
#define ELEMENT ushort
INLINE void store_elements(const float16 v, __private ushort *out) { vstore_half16_rte(v, 0, (__private half *)out); }
#else
#define ELEMENT float
INLINE void store_elements(const float16 v, __private float *out) { vstore16(v, 0, out); }
#endif

__kernel void kv_append_simd(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(cache_k), BUFFER(cache_v), const int k_stride,
                             const int v_stride, const int head_dim, const int head_dim_v, const int capacity) {
  const size_t s = get_global_id(0), h = get_global_id(1);
  const size_t position = AT(const int, positions)[s];
  __global const float *k = AT(const float, k) + s * k_stride + h * head_dim;
  __global const float *v = AT(const float, v) + s * v_stride + h * head_dim_v;
  __global ELEMENT *to_k =
      AT(ELEMENT, cache_k) + (h * (capacity / 16) + position / 16) * head_dim * 16 + position % 16;
  __global ELEMENT *to_v = AT(ELEMENT, cache_v) + (h * capacity + position) * head_dim_v;
  ELEMENT lanes[16] __attribute__((aligned(64)));
  for (int i = 0; i < head_dim; i += 16) {
    const int count = min(16, head_dim - i);
    store_elements(count == 16 ? vload16(0, k + i) : load_part(k + i, count, 0.0f), lanes);
    for (int j = 0; j < count; ++j) to_k[(i + j) * 16] = lanes[j];
  }
  for (int i = 0; i < head_dim_v; i += 16) {
    const int count = min(16, head_dim_v - i);
    store_elements(count == 16 ? vload16(0, v + i) : load_part(v + i, count, 0.0f), lanes);
    if (count == 16) {
      vstore16(vload16(0, lanes), 0, to_v + i);
    } else {
      for (int j = 0; j < count; ++j) to_v[i + j] = lanes[j];
    }
  }
}
