// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. The cache is that of kv_store.cl.
// Work: one work-item per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token, dimension 2
//   the KV head.
#include "kv_store.cl"

__kernel void kv_append_simt(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), const int k_stride, const int v_stride, const int head_dim, const int head_dim_v,
                             const int segments, const int first_token, const int depth, const int pages_each, const int page_count) {
  const int i = get_global_id(0);
  const size_t s = get_global_id(1), h = get_global_id(2);
  const int segment = segment_of(s, PTR(const int, begins), segments, first_token);
  const Cell cell =
      cell_of(PTR(const int, positions)[s], h, segment, PTR(const int, pages), PTR(const int, paths), depth, pages_each, page_count);
  if (i < head_dim) STORE(PTR(const float, k)[s * k_stride + h * head_dim + i], key_index(cell, head_dim, i), PTR(ELEMENT, cache_k));
  if (i < head_dim_v) STORE(PTR(const float, v)[s * v_stride + h * head_dim_v + i], value_index(cell, head_dim_v, i), PTR(ELEMENT, cache_v));
}
