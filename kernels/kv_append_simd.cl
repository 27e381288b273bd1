// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (to nearest, ties to even) with -DKV_F16=1,
//   else f32.
//   cache_k [kv_heads][page_count][PAGE/16][head_dim][16]: place p of a page is lane p % 16 of block p / 16, so that 16
//   scores are one vector.
//   cache_v [kv_heads][page_count][PAGE][head_dim_v]: one position's values are a row, so that a weighted sum runs
//   along it.
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * PAGE on of a segment. A
//   position's place is the position itself, except with -DTREES=1 (segments.cl).
// Work: one work-item (local size 1) per token (dimension 0) and KV head (dimension 1).
// Limits: positions[s] < pages_each * PAGE.
#ifndef KV_F16
#define KV_F16 1
#endif
#ifndef PAGE  // kCachePage
#define PAGE 256
#endif
#include "segments.cl"
#if KV_F16
#define ELEMENT ushort
INLINE void store_elements(const float16 v, __private ushort *out) { vstore_half16_rte(v, 0, (__private half *)out); }
#else
#define ELEMENT float
INLINE void store_elements(const float16 v, __private float *out) { vstore16(v, 0, out); }
#endif

__kernel void kv_append_simd(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), const int k_stride, const int v_stride, const int head_dim, const int head_dim_v,
                             const int segments, const int first_token, const int depth, const int pages_each, const int page_count) {
  const size_t s = get_global_id(0), h = get_global_id(1);
  const int segment = segment_of(s, PTR(const int, begins), segments, first_token);
  const int of_text = place_of(PTR(const int, positions)[s], PTR(const int, paths) + segment * (1 + depth)), place = of_text % PAGE;
  const size_t page = h * page_count + PTR(const int, pages)[segment * pages_each + of_text / PAGE];
  __global const float *k = PTR(const float, k) + s * k_stride + h * head_dim;
  __global const float *v = PTR(const float, v) + s * v_stride + h * head_dim_v;
  __global ELEMENT *to_k = PTR(ELEMENT, cache_k) + (page * (PAGE / 16) + place / 16) * head_dim * 16 + place % 16;
  __global ELEMENT *to_v = PTR(ELEMENT, cache_v) + (page * PAGE + place) * head_dim_v;
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
