// Writes the keys and values of S tokens to their sequences' places in the cache of one layer, rounded to the
// cache's type.
//
// Layout: k, v f32 at s*stride + h*width + i. Cache elements are f16 (to nearest, ties to even) with -DKV_F16=1,
//   else f32.
//   cache_k [kv_heads][page_count][PAGE/16][head_dim][16]: place p of a page is lane p % 16 of block p / 16.
//   cache_v [kv_heads][page_count][PAGE][head_dim_v]
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * PAGE on of a segment. A
//   position's place is the position itself, except with -DTREES=1 (segments.cl).
// Work: one work-item per element. Dimension 0 is i (rounded up to groups of 64), dimension 1 the token, dimension 2
//   the KV head.
// Limits: positions[s] < pages_each * PAGE.
#ifndef KV_F16
#define KV_F16 1
#endif
#ifndef PAGE  // kCachePage
#define PAGE 256
#endif
#include "segments.cl"
#if KV_F16
#define STORE(value, index, base) vstore_half_rte(value, index, (__global half *)(base))
#define ELEMENT ushort
#else
#define STORE(value, index, base) ((base)[index] = (value))
#define ELEMENT float
#endif

__kernel void kv_append_simt(BUFFER(k), BUFFER(v), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), const int k_stride, const int v_stride, const int head_dim, const int head_dim_v,
                             const int segments, const int first_token, const int depth, const int pages_each, const int page_count) {
  const int i = get_global_id(0);
  const size_t s = get_global_id(1), h = get_global_id(2);
  const int segment = segment_of(s, PTR(const int, begins), segments, first_token);
  const int of_text = place_of(PTR(const int, positions)[s], PTR(const int, paths) + segment * (1 + depth)), place = of_text % PAGE;
  const size_t page = h * page_count + PTR(const int, pages)[segment * pages_each + of_text / PAGE];
  if (i < head_dim) {
    const size_t at = ((page * (PAGE / 16) + place / 16) * head_dim + i) * 16 + place % 16;
    STORE(PTR(const float, k)[s * k_stride + h * head_dim + i], at, PTR(ELEMENT, cache_k));
  }
  if (i < head_dim_v) {
    const size_t at = (page * PAGE + place) * head_dim_v + i;
    STORE(PTR(const float, v)[s * v_stride + h * head_dim_v + i], at, PTR(ELEMENT, cache_v));
  }
}
