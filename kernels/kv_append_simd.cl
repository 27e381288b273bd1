// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. The cache is that of kv_store.cl.
// Work: one work-item (local size 1) per token (dimension 0) and KV head (dimension 1).
#include "kv_store.cl"
#if KV_F16
INLINE void store_elements(const float16 v, __private ushort *out) { vstore_half16_rte(v, 0, (__private half *)out); }
#else
INLINE void store_elements(const float16 v, __private float *out) { vstore16(v, 0, out); }
#endif

__kernel void kv_append_simd(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), const int k_stride, const int v_stride, const int head_dim, const int head_dim_v,
                             const int segments, const int first_token, const int depth, const int pages_each, const int page_count) {
  const size_t s = get_global_id(0), h = get_global_id(1);
  const int segment = segment_of(s, PTR(const int, begins), segments, first_token);
  const Cell cell =
      cell_of(PTR(const int, positions)[s], h, segment, PTR(const int, pages), PTR(const int, paths), depth, pages_each, page_count);
  __global const float *k = PTR(const float, k) + s * k_stride + h * head_dim;
  __global const float *v = PTR(const float, v) + s * v_stride + h * head_dim_v;
  __global ELEMENT *to_k = PTR(ELEMENT, cache_k) + key_index(cell, head_dim, 0);
  __global ELEMENT *to_v = PTR(ELEMENT, cache_v) + value_index(cell, head_dim_v, 0);
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
