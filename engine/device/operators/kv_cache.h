// The KV cache of one layer: its pages, its layout and its sizes.
#pragma once

#include "engine/device/operators/view.h"
#include "tandem/types.h"

namespace tandem {

// Positions of a page, also of a split of attention: so every split lies in one page.
inline constexpr int64_t kCachePage = 256;

constexpr int64_t pages_of(int64_t positions) { return (positions + kCachePage - 1) / kCachePage; }

// The KV cache of one layer consists of pages that any sequence may use. engine/device/operators/segments.h says which
// sequence uses which page. `type` is the element type. The pages of a KV head lie together. If a sequence has its
// pages in order, its positions follow each other in memory.
//   k: [kv_heads][pages][kCachePage/16][head_dim][16]  (16 positions are the lanes)
//   v: [kv_heads][pages][kCachePage][head_dim_v]
struct KvCache {
  KvType type = KvType::f16;
  int64_t kv_heads = 0, head_dim = 0, head_dim_v = 0;
  int64_t capacity = 0;  // the most positions of one sequence, a multiple of 64
  int64_t pages = 0;     // the number of pages
  Operand k, v;

  bool operator==(const KvCache&) const = default;
  size_t element_bytes() const { return type == KvType::f16 ? 2 : 4; }
  // Bytes of one KV head with `width` values at each position: of a page, and of all pages.
  size_t page_bytes(int64_t width) const { return static_cast<size_t>(kCachePage * width) * element_bytes(); }
  size_t head_bytes(int64_t width) const { return static_cast<size_t>(pages) * page_bytes(width); }
  size_t k_bytes() const { return static_cast<size_t>(kv_heads) * head_bytes(head_dim); }
  size_t v_bytes() const { return static_cast<size_t>(kv_heads) * head_bytes(head_dim_v); }
  // Index of element i of a KV head at a cell. A cell is place `cell` % kCachePage of page `cell` / kCachePage.
  int64_t k_index(int64_t cell, int64_t head, int64_t i) const {
    return ((head * pages * kCachePage + cell) / 16 * head_dim + i) * 16 + cell % 16;
  }
  int64_t v_index(int64_t cell, int64_t head, int64_t i) const {
    return (head * pages * kCachePage + cell) * head_dim_v + i;
  }
};

// A cache for one sequence of `capacity` positions, without memory. `pages` sets the number of pages for
// more sequences.
inline KvCache kv_cache(KvType type, int64_t kv_heads, int64_t head_dim, int64_t head_dim_v, int64_t capacity,
                        int64_t pages = 0) {
  KvCache cache;
  cache.type = type;
  cache.kv_heads = kv_heads;
  cache.head_dim = head_dim, cache.head_dim_v = head_dim_v;
  cache.capacity = capacity;
  cache.pages = pages > 0 ? pages : pages_of(capacity);
  return cache;
}

// The keys, or the values, of all KV heads in all pages. An operator moves `width` values of each head at `positions`
// of them.
template <typename Place>
View<Place> cache_of(Place& place, const KvCache& cache, Use use, int64_t width, double positions) {
  const double values = positions * static_cast<double>(cache.kv_heads * width);
  return whole(place, use, Role::cache, static_cast<size_t>(cache.kv_heads) * cache.head_bytes(width))
      .moving(values, values * static_cast<double>(cache.element_bytes()));
}

}  // namespace tandem
