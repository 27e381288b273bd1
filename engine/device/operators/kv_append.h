// The operator KvAppend: writes keys and values of new tokens into the KV cache.
#pragma once

#include "engine/device/operators/segments.h"

namespace tandem {

// Writes token s's k and v, rounded to the cache's type, to the place of position positions[s] of its segment. It
// writes nothing else in the cache. No two tokens of a batch have the same place.
struct KvAppend {
  int64_t S = 0;
  Operand k, v;  // [S, kv_heads * head_dim], strides k_stride, v_stride
  int64_t k_stride = 0, v_stride = 0;
  Operand positions;  // int32 [S], strictly ascending in a segment
  KvCache cache;
  Segments segments;

  bool operator==(const KvAppend&) const = default;
  const char* kind() const { return "kv_append"; }
  Features features() const {
    Features all{Feature::scatter};
    if (segments.depth > 0) all.add(Feature::trees);
    return all;
  }
  double flops() const { return 0; }
  // The caches count as read too: only some of their positions are written, and the others keep their values.
  template <typename Self>
  static auto views(Self& op) {
    auto& cache = op.cache;
    const auto positions = static_cast<double>(op.S);
    return std::array{rows_of(op.k, Use::read, op.S, cache.kv_heads * cache.head_dim, op.k_stride),
                      rows_of(op.v, Use::read, op.S, cache.kv_heads * cache.head_dim_v, op.v_stride),
                      ids_of(op.positions, Use::read, op.S),
                      begins_of(op.segments.begins, op.segments),
                      table_of(op.segments.pages, op.segments, cache),
                      paths_of(op.segments.paths, op.segments),
                      cache_of(cache.k, cache, Use::update, cache.head_dim, positions),
                      cache_of(cache.v, cache, Use::update, cache.head_dim_v, positions)};
  }
};

}  // namespace tandem
