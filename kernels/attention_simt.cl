// Causal attention over the cache of one layer, or over its last `window` positions, with grouped query heads.
//   Computes softmax(scale * q k^T) v without an S x S buffer.
//
// Idea: the online softmax of Milakov and Gimelshein (2018, arXiv:1805.02867) over splits of the cache, as in
//   FlashAttention (Dao et al. 2022, arXiv:2205.14135) and its split-cache decoding. All queries of a tile share every
//   load of K and V.
// Layout: q f32 at s*q_stride + head*HEAD_DIM + i; y f32 at s*y_stride + head*HEAD_DIM_V + i.
//   cache_k [kv_heads][page_count][SPLIT/16][HEAD_DIM][16], cache_v [kv_heads][page_count][SPLIT][HEAD_DIM_V]; both are
//   f16 with -DKV_F16=1, else f32.
//   pages int32 [segments][pages_each]: page pages[segment][i] holds the places from i * SPLIT on of a segment. A
//   position's place is the position itself, except with -DTREES=1 (segments.cl, paths.cl).
//   sinks f32 [heads], read with -DSINKS=1. A result is divided by its sum + exp(sink - maximum) then.
//   slopes f32 [heads] and token_positions int32 [S], read with -DSLOPES=1 (distance_bias.cl).
//   scratch f32 [S*heads][pages_each][2 + HEAD_DIM_V]: maximum, sum and unscaled values of each split.
// Work: groups of 64. attention_simt, attention_split_simt and attention_merge_simt map groups as attention_simd.cl
//   maps work-items. attention_merge_codes_simt is the merge that also makes 8-bit codes.
//   For the scores a work-item takes the positions lane, lane + 64, ... of the split; neighbours read neighbouring
//   K lanes.
//   For the weighted sum it takes the value elements lane, lane + 64, ...; neighbours read neighbouring V elements.
// Order, the same for both ways and every tile: the cache is cut into splits of SPLIT absolute positions.
//   In a split a score is one fma chain over i = 0 .. HEAD_DIM-1, then times scale; a soft_cap above 0 then caps it.
//   With -DSLOPES=1 one fma then subtracts slope * distance. The maximum is exact.
//   exp is exp1 of common.cl. Its sum is 64 lane sums and the tree of group_sum.
//   A value element is one fma chain over ascending positions. merge() merges splits in ascending order.
// Limits: HEAD_DIM, HEAD_DIM_V >= 1; TILE 1..8; positions[s] < pages_each * SPLIT; local memory TILE * (SPLIT +
//   HEAD_DIM) * 4 + 256 bytes.
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif
#ifndef HEAD_DIM_V
#define HEAD_DIM_V HEAD_DIM
#endif
#ifndef KV_F16
#define KV_F16 1
#endif
#ifndef TILE  // queries that share the loads of K and V
#define TILE 4
#endif
#ifndef SPLIT  // kAttentionSplit
#define SPLIT 256
#endif
#ifndef SHARES  // kAttentionShares
#define SHARES 16
#endif
#ifndef ROUND_F16
#define ROUND_F16 0
#endif

#if KV_F16
#define ELEMENT half
#define LOAD1(p) vload_half(0, p)
#else
#define ELEMENT float
#define LOAD1(p) (*(p))
#endif
#define VALUES ((HEAD_DIM_V + 63) / 64)  // value elements of one work-item
#define RECORD (2 + HEAD_DIM_V)

#include "segments.cl"
#include "paths.cl"
#include "softmax_merge.cl"
#include "distance_bias.cl"
#include "visible.cl"

// For each query of the tile, the results of the splits so far; `values` are this work-item's elements.
typedef struct {
  int first[TILE];  // the first position that the query sees
  int last[TILE];   // the query's own position, the last one that it sees
  int furthest;     // the largest of `last`
  int earliest;     // the smallest of `first`
  float top[TILE], sum[TILE];
  float values[TILE][VALUES];
#if TREES
  Path path;
#endif
  SLOPES_OF_TILE
} Tile;

// Adds the positions [first, first + SPLIT) to the tile; their keys and values begin at k and v.
INLINE void attend_split(Tile *t, __local float *lanes, __local const float *q, __local float *p, __global const ELEMENT *k,
                         __global const ELEMENT *v, const int first, const float scale, const float soft_cap) {
  const int lane = get_local_id(0);
  const int end = min(first + SPLIT, t->furthest + 1);
  for (int n = first + lane; n < first + SPLIT; n += 64) {
    float scores[TILE];
    for (int i = 0; i < TILE; ++i) scores[i] = 0.0f;
    if (n < end) {
      __global const ELEMENT *key = KEY_AT(n);
      for (int d = 0; d < HEAD_DIM; ++d) {
        const float element = LOAD1(key + d * 16);
        for (int i = 0; i < TILE; ++i) scores[i] = fma(q[i * HEAD_DIM + d], element, scores[i]);
      }
    }
    for (int i = 0; i < TILE; ++i) p[i * SPLIT + n - first] = n >= t->first[i] && n <= t->last[i] ? scores[i] * scale : -INFINITY;
  }

  float keep[TILE], take[TILE];
  for (int i = 0; i < TILE; ++i) {  // a work-item reads back only the scores it wrote
    if (soft_cap > 0.0f) {  // unseen positions stay at -INFINITY
      for (int n = lane; n < SPLIT; n += 64) {
        const float score = p[i * SPLIT + n];
        if (score > -INFINITY) p[i * SPLIT + n] = soft_cap1(score, soft_cap);
      }
    }
#if SLOPES
    for (int n = lane; n < SPLIT; n += 64)
      p[i * SPLIT + n] = fma(-t->slopes[i], fabs((float)(t->own[i] - first - n)), p[i * SPLIT + n]);
#endif
    float part = -INFINITY;
    for (int n = lane; n < SPLIT; n += 64) part = larger(part, p[i * SPLIT + n]);
    const float top = group_largest(lanes, part);
    const float base = top == -INFINITY ? 0.0f : top;
    part = 0.0f;
    for (int n = lane; n < SPLIT; n += 64) {
      const float e = exp1(p[i * SPLIT + n] - base);
      p[i * SPLIT + n] = e;
      part += e;
    }
    const float sum = group_sum(lanes, part);  // its barriers also order the weights for the sums of values
    const Merge m = merge(t->top[i], top);
    t->top[i] = m.top;
    t->sum[i] = fma(sum, m.take, t->sum[i] * m.keep);
    keep[i] = m.keep;
    take[i] = m.take;
  }

  for (int c = 0; c < VALUES; ++c) {
    const int d = lane + c * 64;
    if (d >= HEAD_DIM_V) break;
    float acc[TILE];
    for (int i = 0; i < TILE; ++i) acc[i] = 0.0f;
    for (int n = max(first, t->earliest); n < end; ++n) {  // the weight of positions before a query's first one is 0
      const float element = LOAD1(VALUES_AT(n) + d);
      for (int i = 0; i < TILE; ++i) {
        // A query must not even multiply an unseen position by zero: the cache may hold anything there.
        if (n <= t->last[i]) acc[i] = fma(p[i * SPLIT + n - first], element, acc[i]);
      }
    }
    for (int i = 0; i < TILE; ++i) t->values[i][c] = fma(acc[i], take[i], t->values[i][c] * keep[i]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // the next split writes p
}

// Loads the tile's queries. A last tile that is not full repeats its last query; the repeats are not stored.
INLINE void load_tile(Tile *t, __local float *to, __global const float *q, __global const int *positions,
                      const Queries queries, const int kv_head, const int group, const int q_stride, const int window) {
  t->furthest = 0;
  t->earliest = INT_MAX;
  for (int i = 0; i < TILE; ++i) {
    const int n = min(queries.first + i, queries.queries - 1), s = queries.token + n / group;
    __global const float *from = q + (size_t)s * q_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM;
    for (int d = get_local_id(0); d < HEAD_DIM; d += 64) to[i * HEAD_DIM + d] = from[d];
    t->last[i] = positions[s];
    t->first[i] = FIRST_SEEN(t->last[i], window);
    t->earliest = min(t->earliest, t->first[i]);
    t->furthest = max(t->furthest, t->last[i]);
    t->top[i] = -INFINITY;
    t->sum[i] = 0.0f;
    for (int c = 0; c < VALUES; ++c) t->values[i][c] = 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

INLINE float result(const float value, const float sum) {
#if ROUND_F16
  return round_f16(value / sum);
#else
  return value / sum;
#endif
}

// The KV head's keys or values in the split that begins at position `first` of the segment.
#define CACHE_OF(name, width, first)                                                                                          \
  (PTR(const ELEMENT, name) +                                                                                                  \
   ((size_t)kv_head * page_count + PTR(const int, pages)[queries.segment * pages_each + (first) / SPLIT]) * SPLIT * (width))

__kernel void attention_simt(BUFFER(q), BUFFER(y), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), BUFFER(sinks), BUFFER(slopes), BUFFER(token_positions), const int S, const int group, const int segments, const int first_token,
                             const int depth, const int pages_each, const int page_count, const int q_stride, const int y_stride,
                             const float scale, const float soft_cap, const int window) {
  __local float lanes[64], q_tile[TILE * HEAD_DIM], p[TILE * SPLIT];
  const int kv_head = get_group_id(1);
  const Queries queries = queries_of(get_group_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;  // the whole group returns
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, q_tile, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  for (int first = t.earliest / SPLIT * SPLIT; first <= t.furthest; first += SPLIT) {
    attend_split(&t, lanes, q_tile, p, CACHE_OF(cache_k, HEAD_DIM, first), CACHE_OF(cache_v, HEAD_DIM_V, first), first, scale,
                 soft_cap);
  }
  for (int i = 0; i < TILE && queries.first + i < queries.queries; ++i) {
    const int n = queries.first + i, s = queries.token + n / group;
    __global float *y = PTR(float, y) + (size_t)s * y_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM_V;
    const float sum = sum_with_sink(t.sum[i], t.top[i], PTR(const float, sinks), kv_head * group + n % group);
    for (int d = get_local_id(0), c = 0; d < HEAD_DIM_V; d += 64, ++c) y[d] = result(t.values[i][c], sum);
  }
}

__kernel void attention_split_simt(BUFFER(q), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k), BUFFER(cache_v),
                                   BUFFER(scratch), BUFFER(slopes), BUFFER(token_positions), const int S, const int group, const int segments, const int first_token,
                                   const int depth, const int pages_each, const int page_count, const int q_stride, const float scale,
                                   const float soft_cap, const int share_begin, const int share_end, const int window) {
  __local float lanes[64], q_tile[TILE * HEAD_DIM], p[TILE * SPLIT];
  const Queries queries = queries_of(get_group_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;  // the whole group returns
  const int last = PTR(const int, positions)[queries.token + (queries.queries - 1) / group];
  if (!is_in_share(last, get_group_id(2), share_begin, share_end)) return;
  const int kv_head = get_group_id(1), split = get_group_id(2);
  const int heads = get_num_groups(1) * group;
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, q_tile, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  // The group runs a split that the tile does not see over no positions, since all must meet the barriers. The merge
  // does not read it.
  attend_split(&t, lanes, q_tile, p, CACHE_OF(cache_k, HEAD_DIM, split * SPLIT), CACHE_OF(cache_v, HEAD_DIM_V, split * SPLIT),
               split * SPLIT, scale, soft_cap);
  for (int i = 0; i < TILE && queries.first + i < queries.queries; ++i) {
    const int n = queries.first + i;
    const size_t query = (size_t)(queries.token + n / group) * heads + kv_head * group + n % group;
    __global float *record = PTR(float, scratch) + (query * pages_each + split) * RECORD;
    if (get_local_id(0) == 0) {
      record[0] = t.top[i];
      record[1] = t.sum[i];
    }
    for (int d = get_local_id(0), c = 0; d < HEAD_DIM_V; d += 64, ++c) record[2 + d] = t.values[i][c];
  }
}

// Element d of a query's result, merged from the records of its splits.
INLINE float merged(__global const float *records, const int d, const int last, const int window, __global const float *sinks, const int head) {
  float top = -INFINITY, sum = 0.0f, value = 0.0f;
  for (int split = FIRST_SEEN(last, window) / SPLIT; split * SPLIT <= last; ++split) {
    __global const float *record = records + (size_t)split * RECORD;
    const Merge m = merge(top, record[0]);
    top = m.top;
    sum = fma(record[1], m.take, sum * m.keep);
    value = fma(record[2 + d], m.take, value * m.keep);
  }
  return result(value, sum_with_sink(sum, top, sinks, head));
}

__kernel void attention_merge_simt(BUFFER(y), BUFFER(positions), BUFFER(scratch), BUFFER(sinks), const int heads, const int splits,
                                   const int y_stride, const int window) {
  const size_t query = get_group_id(0), s = query / heads, head = query % heads;
  __global const float *records = PTR(const float, scratch) + query * splits * RECORD;
  __global float *y = PTR(float, y) + s * y_stride + head * HEAD_DIM_V;
  const int last = PTR(const int, positions)[s];
  for (int d = get_local_id(0); d < HEAD_DIM_V; d += 64) y[d] = merged(records, d, last, window, PTR(const float, sinks), head);
}

#if HEAD_DIM_V % 32 == 0
#include "act_i8.cl"
#include "code_tile.cl"

// Writes the codes of y too (act_i8.cl); local memory 8.3 KB.
__kernel void attention_merge_codes_simt(BUFFER(y), BUFFER(positions), BUFFER(scratch), BUFFER(sinks), const int heads, const int splits,
                                         const int y_stride, const int window, BUFFER(codes)) {
  __local float tile[CODE_TILE_ROOM];
  const size_t query = get_group_id(0), s = query / heads, head = query % heads;
  __global const float *records = PTR(const float, scratch) + query * splits * RECORD;
  __global float *y = PTR(float, y) + s * y_stride + head * HEAD_DIM_V;
  const int last = PTR(const int, positions)[s];
  for (int d = get_local_id(0); d < HEAD_DIM_V; d += 64)
    y[d] = tile[CODE_AT(d)] = merged(records, d, last, window, PTR(const float, sinks), head);
  barrier(CLK_LOCAL_MEM_FENCE);
  make_codes_of_tile(tile, 0, HEAD_DIM_V, PTR(uint, codes) + query * (HEAD_DIM_V / 32) * ACT_WORDS);
}
#endif
