#include "engine/device/operators/attention.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sync/error.h"

namespace tandem {

size_t attention_scratch_bytes(int64_t S, int64_t heads, int64_t head_dim_v, int64_t capacity) {
  const int64_t splits = pages_of(capacity);
  const int64_t padded = (2 + head_dim_v + 15) / 16 * 16;
  return bytes_of_floats(S * heads * splits * padded);
}

// Shares are fractions of the splits that the segment sees now, so a share keeps its proportion as the context grows.
SplitRange splits_of(const Attention& op, int64_t last) {
  const int64_t splits = last / kAttentionSplit + 1;
  return {splits * op.share_begin / kAttentionShares, splits * op.share_end / kAttentionShares};
}

// Without a known past: half of the capacity. With several sequences: seen_by_sequences(). Otherwise each token sees
// positions from the window's begin up to its own. A share of the splits sees only the positions of these splits.
SeenPositions Attention::seen(Past past) const {
  if (S == 0 || part == AttentionPart::merge) return {};
  if (!past) {
    const double share = static_cast<double>(share_end - share_begin) / static_cast<double>(kAttentionShares);
    const auto half = static_cast<double>(cache.capacity) / 2;
    const double positions = (window != 0 ? std::min(half, std::fabs(static_cast<double>(window))) : half) * share;
    return {static_cast<double>(S) * positions, positions};
  }
  if (segments.count > 1) return seen_by_sequences(*past);
  int64_t begin = first_seen(window, *past), end = *past + S;
  if (part == AttentionPart::splits) {
    const SplitRange splits = splits_of(*this, *past + S - 1);
    begin = std::max(begin, splits.begin * kAttentionSplit);
    end = std::min(splits.end * kAttentionSplit, end);
  }
  if (sees_all) return {static_cast<double>(S * (end - begin)), static_cast<double>(std::max<int64_t>(0, end - begin))};
  int64_t pairs = 0;
  for (int64_t last = *past; last < *past + S; ++last) {
    const int64_t first = std::max(begin, first_seen(window, last));
    pairs += std::clamp(last + 1, first, std::max(first, end)) - first;
  }
  return {static_cast<double>(pairs), static_cast<double>(std::max<int64_t>(0, end - begin))};
}

// Estimates for the largest number of sequences; only the past of the longest one is known. Each sequence gets an equal
// share of the tokens, and this past. A position that several sequences see counts for each of them.
SeenPositions Attention::seen_by_sequences(int64_t past) const {
  const int64_t sequences = std::min(segments.count, S);
  Attention one = *this;
  one.segments.count = 1;
  one.S = (S + sequences - 1) / sequences;
  SeenPositions sum = one.seen(past);
  sum.pairs *= static_cast<double>(S) / static_cast<double>(one.S);
  sum.positions *= static_cast<double>(sequences);
  return sum;
}

// For each pair and head: a product and an addition for each element of the key, and as many for each element of
// the value.
double Attention::flops(Past past) const {
  if (part == AttentionPart::merge) return 2.0 * S * heads * cache.head_dim_v;
  return 2.0 * static_cast<double>(heads * (cache.head_dim + cache.head_dim_v)) * seen(past).pairs;
}

// Every operand advances to the first head of the slice. Scratch is cut into disjoint parts, each as large as its
// slice needs.
Attention slice_heads(const Attention& op, int64_t kv_begin, int64_t kv_end) {
  const KvCache& cache = op.cache;
  if (kv_begin < 0 || kv_begin > kv_end || kv_end > cache.kv_heads)
    throw Error("a head slice does not fit its attention", "KV heads " + std::to_string(kv_begin) + ".." +
                                                               std::to_string(kv_end) + " of " +
                                                               std::to_string(cache.kv_heads));
  const int64_t group = op.heads / cache.kv_heads, first = kv_begin * group;
  Attention slice = op;
  slice.heads = (kv_end - kv_begin) * group;
  slice.cache.kv_heads = kv_end - kv_begin;
  if (op.q) slice.q = op.q.advanced(bytes_of_floats(first * cache.head_dim));
  if (op.y) slice.y = op.y.advanced(bytes_of_floats(first * cache.head_dim_v));
  if (op.cache.k) slice.cache.k = cache.k.advanced(static_cast<size_t>(kv_begin) * cache.head_bytes(cache.head_dim));
  if (op.cache.v) slice.cache.v = cache.v.advanced(static_cast<size_t>(kv_begin) * cache.head_bytes(cache.head_dim_v));
  if (op.sinks) slice.sinks = op.sinks.advanced(bytes_of_floats(first));
  if (op.slopes) slice.slopes = op.slopes.advanced(bytes_of_floats(first));
  if (op.scratch)
    slice.scratch = op.scratch.advanced(attention_scratch_bytes(op.S, first, cache.head_dim_v, cache.capacity));
  return slice;
}

Attention slice_splits(const Attention& op, int64_t share_begin, int64_t share_end) {
  TANDEM_CHECK(op.part == AttentionPart::whole, "only a whole attention is cut by its splits");
  TANDEM_CHECK(0 <= share_begin && share_begin <= share_end && share_end <= kAttentionShares,
               "a share of an attention's splits");
  Attention part = op;
  part.part = AttentionPart::splits;
  part.share_begin = share_begin;
  part.share_end = share_end;
  return part;
}

Attention merge_of(const Attention& op) {
  TANDEM_CHECK(op.part == AttentionPart::whole, "only a whole attention is merged of its splits");
  Attention part = op;
  part.part = AttentionPart::merge;
  return part;
}

}  // namespace tandem
