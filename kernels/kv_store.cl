// The places of a token's keys and values in the cache of one layer. Other kernels include this file; it is never
// built alone.
//
// Layout: cache elements are f16 (to nearest, ties to even) with -DKV_F16=1, else f32.
//   cache_k [kv_heads][page_count][PAGE/16][head_dim][16]: place p of a page is lane p % 16 of block p / 16, so that 16
//   scores are one vector.
//   cache_v [kv_heads][page_count][PAGE][head_dim_v]: one position's values are a row, so that a weighted sum runs
//   along it.
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * PAGE on of a segment. A
//   position's place is the position itself, except with -DTREES=1 (segments.cl).
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

// A token's place in the pages of one KV head.
typedef struct {
  size_t page;
  int place;
} Cell;

INLINE Cell cell_of(const int position, const size_t h, const int segment, __global const int *pages, __global const int *paths, const int depth,
                    const int pages_each, const int page_count) {
  const int of_text = place_of(position, paths + segment * (1 + depth));
  return (Cell){h * page_count + pages[segment * pages_each + of_text / PAGE], of_text % PAGE};
}
INLINE size_t key_index(const Cell cell, const int head_dim, const int i) {
  return ((cell.page * (PAGE / 16) + cell.place / 16) * head_dim + i) * 16 + cell.place % 16;
}
INLINE size_t value_index(const Cell cell, const int head_dim_v, const int i) {
  return (cell.page * PAGE + cell.place) * head_dim_v + i;
}
