// Writes the keys and values of S tokens to their positions in the cache of one layer, rounded to the cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (nearest even) with -DKV_F16=1, else f32:
//   cache_k [kv_heads][capacity/16][head_dim][16]: position p is lane p % 16 of block p / 16
//   cache_v [kv_heads][capacity][head_dim_v]
// Work: one work-item per element: dimension 0 is i (rounded up to groups of 64), 1 the token, 2 the KV head.
// Limits: positions[s] < capacity, capacity a multiple of 16.
#ifndef KV_F16
#define KV_F16 1
#endif
#if KV_F16
#define STORE(value, index, base) vstore_half_rte(value, index, (__global half *)(base))
#define ELEMENT ushort
#else
#define STORE(value, index, base) ((base)[index] = (value))
#define ELEMENT float
#endif

__kernel void kv_append_simt(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(cache_k), BUFFER(cache_v), const int k_stride,
                             const int v_stride, const int head_dim, const int head_dim_v, const int capacity) {
  const int i = get_global_id(0);
  const size_t s = get_global_id(1), h = get_global_id(2);
  const size_t position = AT(const int, positions)[s];
  if (i < head_dim) {
    const size_t at = ((h * (capacity / 16) + position / 16) * head_dim + i) * 16 + position % 16;
    STORE(AT(const float, k)[s * k_stride + h * head_dim + i], at, AT(ELEMENT, cache_k));
  }
  if (i < head_dim_v) {
    const size_t at = (h * capacity + position) * head_dim_v + i;
    STORE(AT(const float, v)[s * v_stride + h * head_dim_v + i], at, AT(ELEMENT, cache_v));
  }
}
