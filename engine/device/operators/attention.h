// The operator Attention over a paged KV cache, its parts and its slices.
#pragma once

#include <optional>
#include <utility>

#include "engine/device/operators/score_rule.h"
#include "engine/device/operators/segments.h"

namespace tandem {

inline constexpr int64_t kAttentionSplit = kCachePage;  // positions of one split of a cache; part of the bit rules
inline constexpr int64_t kAttentionShares = 16;         // parts into which the splits of a cache can be shared

// An attention can be done in two steps. In the first one, several devices each compute some of the cache's splits. In
// the second one, their results are merged in ascending order, as in a whole attention.
enum class AttentionPart : uint8_t {
  whole,   // y
  splits,  // for a share of the splits: each query's maximum, sum and values, written to their places in scratch
  merge,   // y, from the results of all splits in scratch
};

// The first position that a token at `last` sees. window: the last so many positions; below 0: those of the token's
// chunk of -window positions; 0: all.
constexpr int64_t first_seen(int64_t window, int64_t last) {
  if (window < 0) return last - last % -window;
  return window > 0 && last >= window ? last - window + 1 : 0;
}

// Positions before the first token, if the caller knows them. They are in memory and change from run to run.
using Past = std::optional<int64_t>;

// pairs: of a token and a position that it sees. positions: those that at least one token sees.
struct SeenPositions {
  double pairs = 0, positions = 0;
};

// Scratch bytes. For each token, head and split: the running maximum, the sum and head_dim_v accumulators, padded to
// whole 64-byte lines.
size_t attention_scratch_bytes(int64_t S, int64_t heads, int64_t head_dim_v, int64_t capacity);

// Attention over the cache: token s sees its sequence's positions 0 .. positions[s], or the last `window` of them, or
// those of its chunk, at their places (segments.h). It is causal if these are the tokens' own positions, and without a
// mask if they are the last of the text. Query head h reads KV head h / (heads / kv_heads).
//   score_p = scale * (q . k_p), or the score of another ScoreRule; y = sum_p softmax(score)_p * v_p. All sums are f32,
//   in an order that depends only on absolute positions. With sinks, softmax's sum also has exp(sinks[head]), which
//   weighs nothing (Xiao et al. 2023, arXiv:2309.17453). With slopes, slopes[head] times the distance from the token to
//   p is subtracted from each score, in one fma (ALiBi, Press et al. 2021, arXiv:2108.12409).
struct Attention {
  int64_t S = 0, heads = 0;
  Operand q;  // [S, heads * head_dim], stride q_stride
  int64_t q_stride = 0;
  Operand y;  // [S, heads * head_dim_v], stride y_stride
  int64_t y_stride = 0;
  // int32 [S]: the last position that each token sees. Its own, strictly ascending in a segment; with sees_all that of
  // the segment's last token in the batch.
  Operand positions;
  KvCache cache;
  Segments segments;
  ScoreRule score;
  bool round_f16 = false;
  Operand
      scratch;  // device_local, attention_scratch_bytes(); used by parts, and when the cache is split over work-items
  AttentionPart part = AttentionPart::whole;
  int64_t window = 0;                                     // as in first_seen()
  int64_t share_begin = 0, share_end = kAttentionShares;  // for part `splits`: see splits_of()
  bool has_sinks = false;
  Operand sinks = {};     // f32 [heads]; not read by part `splits`
  bool sees_all = false;  // every token sees the whole text, which is in this pass
  bool has_slopes = false;
  Operand slopes = {};           // f32 [heads]; slopes and token_positions are not read by part `merge`
  Operand token_positions = {};  // int32 [S]: each token's own position

  bool operator==(const Attention&) const = default;
  const char* kind() const { return part == AttentionPart::merge ? "attention_merge" : "attention"; }
  Features features() const {
    Features all{Feature::attention};
    if (window > 0) all.add(Feature::window);
    if (window < 0) all.add(Feature::chunks);
    if (segments.depth > 0) all.add(Feature::trees);
    if (has_sinks) all.add(Feature::attention_sinks);
    if (has_slopes) all.add(Feature::distance_bias);
    all.add(score.features());
    return all;
  }
  // The pairs and positions that the part sees. Without a known past: half of the cache's capacity, and every token
  // sees all of it.
  SeenPositions seen(Past past) const;
  SeenPositions seen_by_sequences(int64_t past) const;
  double flops(Past past) const;

  // A share of the splits writes a part of scratch, and the rest keeps its values. So scratch counts as read too.
  template <typename Self>
  static auto views(Self& op, Past past) {
    const bool merges = op.part == AttentionPart::merge, splits = op.part == AttentionPart::splits;
    auto& cache = op.cache;
    const double positions = op.seen(past).positions;
    const int64_t width_v = op.heads * cache.head_dim_v;
    // In a whole attention, scratch stays in the processor's caches and moves no bytes.
    const double kept = merges || splits ? static_cast<double>(op.S * width_v) : 0;
    const Use scratch_use = merges ? Use::read : splits ? Use::update : Use::write;
    auto scratch = whole(op.scratch, scratch_use, Role::scratch,
                         attention_scratch_bytes(op.S, op.heads, cache.head_dim_v, cache.capacity));
    scratch.token_bytes = attention_scratch_bytes(1, op.heads, cache.head_dim_v, cache.capacity);
    return std::array{rows_of(op.q, Use::read, op.S, op.heads * cache.head_dim, op.q_stride).only_if(!merges),
                      ids_of(op.positions, Use::read, op.S),
                      begins_of(op.segments.begins, op.segments).only_if(op.segments.count > 1 && !merges),
                      table_of(op.segments.pages, op.segments, cache).only_if(!merges),
                      paths_of(op.segments.paths, op.segments).only_if(op.segments.depth > 0 && !merges),
                      cache_of(cache.k, cache, Use::read, cache.head_dim, positions).only_if(!merges),
                      cache_of(cache.v, cache, Use::read, cache.head_dim_v, positions).only_if(!merges),
                      rows_of(op.y, Use::write, op.S, width_v, op.y_stride).only_if(!splits),
                      constants_of(op.sinks, op.heads).only_if(op.has_sinks && !splits),
                      constants_of(op.slopes, op.heads).only_if(op.has_slopes && !merges),
                      ids_of(op.token_positions, Use::read, op.S).only_if(op.has_slopes && !merges),
                      std::move(scratch).moving(kept, kept * sizeof(float)).only_if(merges || splits || op.scratch)};
  }
};

// The splits [begin, end) that part `splits` computes of a segment whose last token is at `last`. If the segment sees n
// splits, they are those from n * share_begin / kAttentionShares to n * share_end / kAttentionShares, rounded down.
// Positions are known only when the operator runs, so a share stays the same as the context grows.
struct SplitRange {
  int64_t begin = 0, end = 0;
};
SplitRange splits_of(const Attention& op, int64_t last);

// Slices compute the same bits as the whole. Error when the cut does not fit.
//   slice_heads: KV heads [begin, end) and the query heads that read them; q, y, cache and scratch advance.
//   slice_splits: a share of the splits of an attention with scratch. All its shares and then merge_of() write what the
//   whole writes.
Attention slice_heads(const Attention& op, int64_t kv_begin, int64_t kv_end);
Attention slice_splits(const Attention& op, int64_t share_begin, int64_t share_end);
Attention merge_of(const Attention& op);

}  // namespace tandem
