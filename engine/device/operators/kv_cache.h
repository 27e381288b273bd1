#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

enum class KvType : uint8_t { f16, f32 };

// The KV cache of one layer. Element type by `type`; capacity is a multiple of 64 positions.
//   k: [kv_heads][capacity/16][head_dim][16]  (16 positions are the lanes)   v: [kv_heads][capacity][head_dim_v]
struct KvCache {
  KvType type = KvType::f16;
  int64_t kv_heads = 0, head_dim = 0, head_dim_v = 0, capacity = 0;
  Operand k, v;

  bool operator==(const KvCache&) const = default;
  size_t element_bytes() const { return type == KvType::f16 ? 2 : 4; }
  size_t k_bytes() const { return static_cast<size_t>(kv_heads * capacity * head_dim) * element_bytes(); }
  size_t v_bytes() const { return static_cast<size_t>(kv_heads * capacity * head_dim_v) * element_bytes(); }
};

// All of its keys, or of its values; `positions` of them, each of `width` values, are moved.
template <typename Place>
View<Place> cache_of(Place& place, const KvCache& cache, Use use, size_t bytes, int64_t width, double positions) {
  const double values = positions * static_cast<double>(cache.kv_heads * width);
  return whole(place, use, Role::cache, bytes).moving(values, values * static_cast<double>(cache.element_bytes()));
}

}  // namespace tandem
