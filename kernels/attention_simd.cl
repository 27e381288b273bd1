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
// Work: local size 1.
//   attention_simd        dimension 0 is a tile of TILE queries of one segment, dimension 1 the KV head. A tile holds
//                         one token's group of heads in decode, and tokens and heads together in prefill.
//   attention_split_simd  the same, and dimension 2 is the split; its results go to scratch. It computes only the
//                         splits of the share [share_begin, share_end), in units of 1/SHARES of the splits that the
//                         segment's last token sees. Another device may compute the rest.
//   attention_merge_simd  dimension 0 is token*heads + head: merges the splits of scratch.
// Order, the same for both ways and every tile: the cache is cut into splits of SPLIT absolute positions.
//   In a split a score is one fma chain over i = 0 .. HEAD_DIM-1, then times scale; a soft_cap above 0 then caps it.
//   With -DSLOPES=1 one fma then subtracts slope * distance. The maximum is exact.
//   exp is exp16 of common.cl. Its sum is 64 lane sums (lane = position % 64) and the tree of sum_64_lanes.
//   A value element is one fma chain over ascending positions. merge() merges splits in ascending order.
//   Positions after a token's own add an exact zero or are not read, so neither the tile nor S changes a bit.
// Limits: HEAD_DIM, HEAD_DIM_V >= 1; the caches are 64-byte aligned; TILE 1..8; positions[s] < pages_each * SPLIT.
// Measured: PoCL 3.1, one worker of a Zen 4 core whose peak is 117.5 GFLOP/s, f16 cache, launch included, medians; 9
//   heads, 3 KV heads, d = 64.
//   Tiles of six (of eight): 256 tokens at position 0 reach 86 (76) GFLOP/s, at position 768 they reach 96 (88). One
//   token at 4,000 takes 136 us with either.
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
#define TILE 8
#endif
#ifndef SPLIT  // kAttentionSplit
#define SPLIT 256
#endif
#ifndef SHARES  // kAttentionShares: share_begin and share_end count in 1/SHARES
#define SHARES 16
#endif
#ifndef ROUND_F16
#define ROUND_F16 0
#endif

#if KV_F16
#define ELEMENT half
#define ELEMENT_BYTES 2
#define LOAD16(p) LOAD_HALF16(__global, p)
#define LOAD1(p) vload_half(0, p)
#else
#define ELEMENT float
#define ELEMENT_BYTES 4
#define LOAD16(p) vload16(0, p)
#define LOAD1(p) (*(p))
#endif

#include "registers_simd.cl"
// Accumulators of the two inner loops: enough chains to hide the latency of fma. In each step a query's element is
// loaded for each row of accumulators, and a key is converted for each column. 24 accumulators (six queries, four
// blocks) reach the multiply-add peak of a Zen 4 core; 16 (eight queries, two blocks) reach 86 % of it.
// Loads are the limit there (engine/device/processor.h). On processors where conversions are the limit, eight queries
// and two blocks are better.
#ifndef CHAINS
#define CHAINS (REGISTERS >= 32 ? 16 : 6)
#endif
#define K_BLOCKS (TILE * 4 <= CHAINS ? 4 : TILE * 2 <= CHAINS ? 2 : 1)  // blocks of 16 positions at once
#define REST_BLOCKS (TILE > 4 ? 1 : K_BLOCKS)                           // fewer at the end, if the chains still suffice
#define VECTORS ((HEAD_DIM_V + 15) / 16)
#if TILE * 4 <= CHAINS && VECTORS % 4 == 0
#define V_VECTORS 4  // vectors of a value row at once
#elif TILE * 2 <= CHAINS && VECTORS % 2 == 0
#define V_VECTORS 2
#else
#define V_VECTORS 1
#endif
#define RECORD (2 + HEAD_DIM_V)

// Vector `c` of a value row; the last one may be short. PoCL compiles vload_half16 to aligned loads, so a row that is
// not a multiple of 32 bytes goes through an aligned copy.
INLINE float16 load_values(__global const ELEMENT *row, const int c) {
#if HEAD_DIM_V % 16 && KV_F16
  ushort lanes[16] __attribute__((aligned(64)));
  __global const ushort *from = (__global const ushort *)row + c * 16;
  for (int i = 0; i < 16; ++i) lanes[i] = c * 16 + i < HEAD_DIM_V ? from[i] : 0;
  return vload_half16(0, (__private const half *)lanes);
#elif HEAD_DIM_V % 16
  return c == VECTORS - 1 ? load_part(row + c * 16, HEAD_DIM_V % 16, 0.0f) : vload16(c, row);
#else
  return LOAD16(row + c * 16);
#endif
}

INLINE void store_values(const float16 v, __global float *row, const int c) {
#if HEAD_DIM_V % 16
  if (c == VECTORS - 1) {
    store_part(v, row + c * 16, HEAD_DIM_V % 16);
    return;
  }
#endif
  STORE16(__global, v, row + c * 16);
}

#include "segments.cl"
#include "paths.cl"
#include "softmax_merge.cl"
#include "distance_bias.cl"
#include "visible.cl"

// A tile of queries and, for each query, the results of the splits so far.
typedef struct {
  float q[TILE][HEAD_DIM];
  int first[TILE];  // the first position that the query sees
  int last[TILE];   // the query's own position, the last one that it sees
  int common;       // the smallest of `last`
  int furthest;     // the largest of `last`
  int earliest;     // the smallest of `first`
  int latest;       // the largest of `first`
  bool is_empty;    // no split so far; `values` holds nothing
  float top[TILE], sum[TILE];
  float values[TILE][VECTORS * 16];
#if TREES
  Path path;
#endif
  SLOPES_OF_TILE
} Tile;

// Caps the scores of one query in `blocks` blocks, leaves unseen positions at -inf, and returns the largest score of
// each lane. This is a pass of its own, so that models without a cap do not pay for it.
INLINE float16 cap_scores(float *scores, const int blocks, const float soft_cap) {
  float16 top = -INFINITY;
  for (int b = 0; b < blocks; ++b) {
    const float16 score = vload16(b, scores);
    const float16 capped = score > -INFINITY ? soft_cap16(score, soft_cap) : score;
    top = larger16(top, capped);
    STORE16(__private, capped, scores + b * 16);
  }
  return top;
}

#define LANES ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

#if SLOPES
// Subtracts slope * |own - position| from the scores of one query in `blocks` blocks from position `first` on, and
// returns the largest score of each lane.
INLINE float16 subtract_distances(float *scores, const int blocks, const int first, const float slope, const int own) {
  float16 top = -INFINITY;
  for (int b = 0; b < blocks; ++b) {
    const float16 distance = fabs(convert_float16(own - (first + b * 16 + LANES)));
    const float16 score = fma((float16)(-slope), distance, vload16(b, scores));
    top = larger16(top, score);
    STORE16(__private, score, scores + b * 16);
  }
  return top;
}
#endif

// The scaled scores of query i at 16 positions of a split that begins at `first`; -inf at positions that the query does
// not see.
INLINE float16 seen_scores(const Tile *t, const int i, const float16 products, const int16 position, const int first, const float scale) {
  int16 unseen = position > (int16)(t->last[i]);
  // Skipped where every query sees the split's beginning.
  if (first < t->latest) unseen |= position < (int16)(t->first[i]);
  return unseen ? (float16)(-INFINITY) : products * scale;
}

// Computes the scores of `blocks` blocks of 16 positions from block b of a split on, and the largest score of each
// lane. It also prefetches the values of these positions and the keys after them.
INLINE void score_blocks(const Tile *t, float p[TILE][SPLIT], float16 tops[TILE], __global const ELEMENT *k, __global const ELEMENT *v,
                         const int b, const int blocks, const int first, const float scale) {
  __global const ELEMENT *block = k + (size_t)b * HEAD_DIM * 16;
  float16 scores[TILE][K_BLOCKS];
#pragma unroll
  for (int i = 0; i < TILE; ++i) {
#pragma unroll
    for (int j = 0; j < K_BLOCKS; ++j) scores[i][j] = 0.0f;
  }
#pragma unroll 2
  for (int d = 0; d < HEAD_DIM; ++d) {
    float16 keys[K_BLOCKS];
#pragma unroll
    for (int j = 0; j < K_BLOCKS; ++j) {
      if (j >= blocks) continue;
      keys[j] = LOAD16(block + (j * HEAD_DIM + d) * 16);
      if (d * 16 * ELEMENT_BYTES % 64 == 0) {
        PREFETCH(block + (j * HEAD_DIM + d) * 16, K_BLOCKS * HEAD_DIM * 16 * ELEMENT_BYTES);
        PREFETCH_FAR(v + (size_t)(b + j) * HEAD_DIM_V * 16 + d * 16, 0);
      }
    }
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
#pragma unroll
      for (int j = 0; j < K_BLOCKS; ++j) {
        if (j < blocks) scores[i][j] = fma((float16)(t->q[i][d]), keys[j], scores[i][j]);
      }
    }
  }
  const bool all_seen = first >= t->latest && first + (b + blocks) * 16 - 1 <= t->common;  // by every query
#pragma unroll
  for (int j = 0; j < K_BLOCKS; ++j) {
    if (j >= blocks) continue;
    const int16 position = first + (b + j) * 16 + LANES;
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      const float16 score = all_seen ? scores[i][j] * scale : seen_scores(t, i, scores[i][j], position, first, scale);
      tops[i] = larger16(tops[i], score);
      STORE16(__private, score, p[i] + (b + j) * 16);
    }
  }
}

// Adds the positions [first, first + SPLIT) to the tile; their keys and values begin at k and v. While it reads values
// it prefetches the keys from next_k on, for as many positions.
INLINE void attend_split(Tile *t, __global const ELEMENT *k, __global const ELEMENT *v, __global const ELEMENT *next_k, const int first,
                         const float scale, const float soft_cap) {
  float p[TILE][SPLIT];  // scores, then weights
  const int end = min(first + SPLIT, t->furthest + 1);
  const int blocks = (end - first + 16 * REST_BLOCKS - 1) / (16 * REST_BLOCKS) * REST_BLOCKS;

  float16 tops[TILE];
#pragma unroll
  for (int i = 0; i < TILE; ++i) tops[i] = -INFINITY;
#if TREES  // blocks with positions of a tree are read position by position
  const int straight = HAS_TREE_BEFORE(end) ? max(0, t->path.at[0] - first) / (16 * REST_BLOCKS) * REST_BLOCKS : blocks;
#else
  const int straight = blocks;
#endif
  int scored = 0;
  for (; scored + K_BLOCKS <= straight; scored += K_BLOCKS) score_blocks(t, p, tops, k, v, scored, K_BLOCKS, first, scale);
#if REST_BLOCKS < K_BLOCKS
  for (; scored < straight; scored += REST_BLOCKS) score_blocks(t, p, tops, k, v, scored, REST_BLOCKS, first, scale);
#endif

#if TREES
  for (int b = straight; b < blocks; ++b) {
    __global const ELEMENT *keys[16];
    for (int lane = 0; lane < 16; ++lane) keys[lane] = KEY_AT(min(first + b * 16 + lane, end - 1));
    float16 scores[TILE];
    for (int i = 0; i < TILE; ++i) scores[i] = 0.0f;
    for (int d = 0; d < HEAD_DIM; ++d) {
      float key[16];
      for (int lane = 0; lane < 16; ++lane) key[lane] = LOAD1(keys[lane] + d * 16);
      for (int i = 0; i < TILE; ++i) scores[i] = fma((float16)(t->q[i][d]), vload16(0, key), scores[i]);
    }
    for (int i = 0; i < TILE; ++i) {
      const float16 score = seen_scores(t, i, scores[i], first + b * 16 + LANES, first, scale);
      tops[i] = larger16(tops[i], score);
      STORE16(__private, score, p[i] + b * 16);
    }
  }
#endif

  if (soft_cap > 0.0f) {
    for (int i = 0; i < TILE; ++i) tops[i] = cap_scores(p[i], blocks, soft_cap);
  }
#if SLOPES
  for (int i = 0; i < TILE; ++i) tops[i] = subtract_distances(p[i], blocks, first, t->slopes[i], t->own[i]);
#endif
  float split_sums[TILE];
  // The factors of the earlier splits and of this one (softmax_merge.cl).
  float keep_and_take[16] __attribute__((aligned(64))) = {0};
  float *keep = keep_and_take, *take = keep_and_take + 8;
  for (int i = 0; i < TILE; ++i) {
    const float top = largest_lane(tops[i]), next_top = larger(t->top[i], top);
    const float base = top == -INFINITY ? 0.0f : top, next_base = next_top == -INFINITY ? 0.0f : next_top;
    float16 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int four = 0; four < blocks; four += 4) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (four + j >= blocks) continue;
        const float16 e = exp16_of_none_above_0(vload16(four + j, p[i]) - base);
        STORE16(__private, e, p[i] + (four + j) * 16);
        sums[j] += e;
      }
    }
    split_sums[i] = sum_64_lanes(sums);
    keep[i] = t->top[i] - next_base;
    take[i] = top - next_base;
    t->top[i] = next_top;
  }
  STORE16(__private, exp16_of_none_above_0(vload16(0, keep_and_take)), keep_and_take);
  for (int i = 0; i < TILE; ++i) t->sum[i] = fma(split_sums[i], take[i], t->sum[i] * keep[i]);

  const int shared_end = min(end, t->common + 1);
  for (int c = 0; c < VECTORS; c += V_VECTORS) {
    float16 acc[TILE][V_VECTORS];
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
#pragma unroll
      for (int j = 0; j < V_VECTORS; ++j) acc[i][j] = 0.0f;
    }
    int n = max(first, t->earliest);  // the weight of positions before a query's first one is 0
    for (; n < shared_end; ++n) {
      __global const ELEMENT *row = VALUES_AT(n);
      float16 values[V_VECTORS];
#pragma unroll
      for (int j = 0; j < V_VECTORS; ++j) values[j] = load_values(row, c + j);
      PREFETCH(row + c * 16, 4096);
      if (c == 0)
        for (int line = 0; line < HEAD_DIM * ELEMENT_BYTES; line += 64) PREFETCH_FAR(next_k + (n - first) * HEAD_DIM, line);
#pragma unroll
      for (int i = 0; i < TILE; ++i) {
#pragma unroll
        for (int j = 0; j < V_VECTORS; ++j) acc[i][j] = fma((float16)(p[i][n - first]), values[j], acc[i][j]);
      }
    }
    // Only some queries see these positions. The others must not even multiply by zero, because the cache may hold
    // anything there.
    for (; n < end; ++n) {
      __global const ELEMENT *row = VALUES_AT(n);
#pragma unroll
      for (int i = 0; i < TILE; ++i) {
        if (n > t->last[i]) continue;
#pragma unroll
        for (int j = 0; j < V_VECTORS; ++j) {
          acc[i][j] = fma((float16)(p[i][n - first]), load_values(row, c + j), acc[i][j]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
#pragma unroll
      for (int j = 0; j < V_VECTORS; ++j) {
        const float16 old = t->is_empty ? (float16)(0.0f) : vload16(c + j, t->values[i]) * keep[i];
        STORE16(__private, fma(acc[i][j], (float16)(take[i]), old), t->values[i] + (c + j) * 16);
      }
    }
  }
  t->is_empty = false;
}

// Loads the tile's queries. A last tile that is not full repeats its last query; the repeats are not stored.
INLINE void load_tile(Tile *t, __global const float *q, __global const int *positions, const Queries queries, const int kv_head,
                      const int group, const int q_stride, const int window) {
  t->is_empty = true;
  t->common = t->earliest = INT_MAX;
  t->latest = 0;
  t->furthest = 0;
  for (int i = 0; i < TILE; ++i) {
    const int n = min(queries.first + i, queries.queries - 1), s = queries.token + n / group;
    __global const float *from = q + (size_t)s * q_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM;
    for (int d = 0; d < HEAD_DIM; ++d) t->q[i][d] = from[d];
    t->last[i] = positions[s];
    t->first[i] = FIRST_SEEN(t->last[i], window);
    t->earliest = min(t->earliest, t->first[i]);
    t->latest = max(t->latest, t->first[i]);
    t->common = min(t->common, t->last[i]);
    t->furthest = max(t->furthest, t->last[i]);
    t->top[i] = -INFINITY;
    t->sum[i] = 0.0f;
  }
}

INLINE void store_result(const float16 values, const float sum, __global float *y, const int c) {
#if ROUND_F16
  store_values(round_f16x16(values / sum), y, c);
#else
  store_values(values / sum, y, c);
#endif
}

// The KV head's keys or values in the split that begins at position `first` of the segment.
#define CACHE_OF(name, width, first)                                                                                          \
  (PTR(const ELEMENT, name) +                                                                                                  \
   ((size_t)kv_head * page_count + PTR(const int, pages)[queries.segment * pages_each + (first) / SPLIT]) * SPLIT * (width))

// The page of the cache with the keys that are read after a tile's last split. They belong to the next segment's tile,
// or to the next KV head if there is only one segment.
INLINE size_t page_behind(const int tile, const Queries queries, const int kv_head, __global const int *begins, __global const int *pages,
                          const int segments, const int first_token, const int S, const int group, const int pages_each,
                          const int page_count) {
  const int next = queries_of(tile + 1, TILE, begins, segments, first_token, S, group).segment;
  const size_t head = segments > 1 ? kv_head : kv_head + 1;
  return head * page_count + pages[(next < 0 ? queries.segment : next) * pages_each];
}

__kernel void attention_simd(BUFFER(q), BUFFER(y), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k),
                             BUFFER(cache_v), BUFFER(sinks), BUFFER(slopes), BUFFER(token_positions), const int S, const int group, const int segments, const int first_token,
                             const int depth, const int pages_each, const int page_count, const int q_stride, const int y_stride,
                             const float scale, const float soft_cap, const int window) {
  const int kv_head = get_global_id(1);
  const Queries queries = queries_of(get_global_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  for (int first = t.earliest / SPLIT * SPLIT; first <= t.furthest; first += SPLIT) {
    __global const ELEMENT *next_k = CACHE_OF(cache_k, HEAD_DIM, min(first + SPLIT, t.furthest));
    if (first + SPLIT > t.furthest)
      next_k = PTR(const ELEMENT, cache_k) + page_behind(get_global_id(0), queries, kv_head, PTR(const int, begins), PTR(const int, pages),
                                                        segments, first_token, S, group, pages_each, page_count) * SPLIT * HEAD_DIM;
    attend_split(&t, CACHE_OF(cache_k, HEAD_DIM, first), CACHE_OF(cache_v, HEAD_DIM_V, first), next_k, first, scale, soft_cap);
  }
  for (int i = 0; i < TILE && queries.first + i < queries.queries; ++i) {
    const int n = queries.first + i, s = queries.token + n / group;
    __global float *y = PTR(float, y) + (size_t)s * y_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM_V;
    const float sum = sum_with_sink(t.sum[i], t.top[i], PTR(const float, sinks), kv_head * group + n % group);
    for (int c = 0; c < VECTORS; ++c) store_result(vload16(c, t.values[i]), sum, y, c);
  }
}

__kernel void attention_split_simd(BUFFER(q), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k), BUFFER(cache_v),
                                   BUFFER(scratch), BUFFER(slopes), BUFFER(token_positions), const int S, const int group, const int segments, const int first_token,
                                   const int depth, const int pages_each, const int page_count, const int q_stride, const float scale,
                                   const float soft_cap, const int share_begin, const int share_end, const int window) {
  const Queries queries = queries_of(get_global_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;
  const int last = PTR(const int, positions)[queries.token + (queries.queries - 1) / group];
  if (!is_in_share(last, get_global_id(2), share_begin, share_end)) return;
  const int kv_head = get_global_id(1), split = get_global_id(2);
  const int heads = get_global_size(1) * group;
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  if (split * SPLIT > t.furthest || (split + 1) * SPLIT <= t.earliest) return;  // the merge does not read this split
  attend_split(&t, CACHE_OF(cache_k, HEAD_DIM, split * SPLIT), CACHE_OF(cache_v, HEAD_DIM_V, split * SPLIT),
               CACHE_OF(cache_k, HEAD_DIM, split * SPLIT), split * SPLIT, scale,
               soft_cap);
  for (int i = 0; i < TILE && queries.first + i < queries.queries; ++i) {
    const int n = queries.first + i;
    const size_t query = (size_t)(queries.token + n / group) * heads + kv_head * group + n % group;
    __global float *record = PTR(float, scratch) + (query * pages_each + split) * RECORD;
    record[0] = t.top[i];
    record[1] = t.sum[i];
    for (int c = 0; c < VECTORS; ++c) store_values(vload16(c, t.values[i]), record + 2, c);
  }
}

__kernel void attention_merge_simd(BUFFER(y), BUFFER(positions), BUFFER(scratch), BUFFER(sinks), const int heads, const int splits,
                                   const int y_stride, const int window) {
  const size_t query = get_global_id(0);
  const size_t s = query / heads, head = query % heads;
  const int last = PTR(const int, positions)[s];
  float top = -INFINITY, sum = 0.0f;
  float16 values[VECTORS];
  for (int c = 0; c < VECTORS; ++c) values[c] = 0.0f;
  for (int split = FIRST_SEEN(last, window) / SPLIT; split * SPLIT <= last; ++split) {
    __global const float *record = PTR(const float, scratch) + (query * splits + split) * RECORD;
    const Merge m = merge(top, record[0]);
    top = m.top;
    sum = fma(record[1], m.take, sum * m.keep);
    for (int c = 0; c < VECTORS; ++c) {
#if HEAD_DIM_V % 16
      const float16 next = c == VECTORS - 1 ? load_part(record + 2 + c * 16, HEAD_DIM_V % 16, 0.0f) : vload16(c, record + 2);
#else
      const float16 next = vload16(c, record + 2);
#endif
      values[c] = fma(next, (float16)(m.take), values[c] * m.keep);
    }
  }
  __global float *y = PTR(float, y) + s * y_stride + head * HEAD_DIM_V;
  sum = sum_with_sink(sum, top, PTR(const float, sinks), head);
  for (int c = 0; c < VECTORS; ++c) store_result(values[c], sum, y, c);
}
