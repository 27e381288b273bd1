#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

enum class KvType : uint8_t { f16, f32 };

inline constexpr int64_t kCachePage = 256;  // positions of a page; one split of attention, so that no split has two

constexpr int64_t pages_of(int64_t positions) { return (positions + kCachePage - 1) / kCachePage; }

// The KV cache of one layer: pages, which any sequence may use (engine/device/operators/segments.h says which one
// does). Element type by `type`. A KV head's pages lie together: those that follow each other in a text do so in
// memory, where it has the pages in order.
//   k: [kv_heads][pages][kCachePage/16][head_dim][16]  (16 positions are the lanes)
//   v: [kv_heads][pages][kCachePage][head_dim_v]
struct KvCache {
  KvType type = KvType::f16;
  int64_t kv_heads = 0, head_dim = 0, head_dim_v = 0;
  int64_t capacity = 0;  // positions that one sequence may have, a multiple of 64
  int64_t pages = 0;     // that there are
  Operand k, v;

  bool operator==(const KvCache&) const = default;
  size_t element_bytes() const { return type == KvType::f16 ? 2 : 4; }
  // Of one KV head with `width` values at each position: a page, and all pages.
  size_t page_bytes(int64_t width) const { return static_cast<size_t>(kCachePage * width) * element_bytes(); }
  size_t head_bytes(int64_t width) const { return static_cast<size_t>(pages) * page_bytes(width); }
  size_t k_bytes() const { return static_cast<size_t>(kv_heads) * head_bytes(head_dim); }
  size_t v_bytes() const { return static_cast<size_t>(kv_heads) * head_bytes(head_dim_v); }
  // Where element i of a KV head lies at a cell, which is place `cell` % kCachePage of page `cell` / kCachePage.
  int64_t k_index(int64_t cell, int64_t head, int64_t i) const {
    return ((head * pages * kCachePage + cell) / 16 * head_dim + i) * 16 + cell % 16;
  }
  int64_t v_index(int64_t cell, int64_t head, int64_t i) const {
    return (head * pages * kCachePage + cell) * head_dim_v + i;
  }
};

// A cache of one sequence's `capacity` positions, without memory; `pages` of them where there are more sequences.
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

// The keys, or the values, of its KV heads in all of its pages; at `positions` of them `width` values each are moved.
template <typename Place>
View<Place> cache_of(Place& place, const KvCache& cache, Use use, int64_t width, double positions) {
  const double values = positions * static_cast<double>(cache.kv_heads * width);
  return whole(place, use, Role::cache, static_cast<size_t>(cache.kv_heads) * cache.head_bytes(width))
      .moving(values, values * static_cast<double>(cache.element_bytes()));
}

}  // namespace tandem
