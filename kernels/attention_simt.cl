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
//   For the scores a work-item takes pairs of neighbouring positions of the split; neighbours read neighbouring K lanes.
//   For the softmax it takes the sums lane of every query. The trees of all queries share their barriers.
//   For the weighted sum it takes pairs of neighbouring value elements. Rows that take half of the work-items are
//   computed by two halves, each for half of the queries.
//   Loads from local memory take four numbers at once, because they cost a graphics card more than multiply-adds.
// Order, the same for both ways and every tile: the cache is cut into splits of SPLIT absolute positions.
//   In a split a score is one fma chain over i = 0 .. HEAD_DIM-1, then times scale; a soft_cap above 0 then caps it.
//   With -DSLOPES=1 one fma then subtracts slope * distance. The maximum is exact.
//   exp is exp1 of common.cl. Its sum is 64 lane sums and a tree in the order of group_sum.
//   A value element is one fma chain over ascending positions. merge() merges splits in ascending order.
// Limits: HEAD_DIM, HEAD_DIM_V >= 1; TILE 1..8; positions[s] < pages_each * SPLIT; local memory TILE * (SPLIT +
//   HEAD_DIM + 3 + 79) * 4 bytes.
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
#define QUERY_VECTORS ((HEAD_DIM + 3) / 4)  // of four elements; the last ones may be unused
// For the weighted sum: rows of at most 32 pairs are computed by two halves of the work-items.
#define PARTS (HEAD_DIM_V <= 64 && TILE > 1 ? 2 : 1)
#define PART_ITEMS (64 / PARTS)
#define EACH ((TILE + PARTS - 1) / PARTS)  // queries of a part
#define VALUES ((HEAD_DIM_V + 2 * PART_ITEMS - 1) / (2 * PART_ITEMS))  // pairs of one work-item
#define RECORD (2 + HEAD_DIM_V)

#include "segments.cl"
#include "paths.cl"
#include "softmax_merge.cl"
#include "distance_bias.cl"
#include "visible.cl"

// Two neighbouring elements of a cache, and 0 behind the `left` elements. is_word: halves begin at a multiple of four bytes.
INLINE float2 load_pair(__global const ELEMENT *at, const int left, const int is_word) {
#if KV_F16
  if (left > 1 && is_word) {
    const uint word = *(__global const uint *)at;
    return (float2)(vload_half(0, (__private const half *)&word), vload_half(1, (__private const half *)&word));
  }
#endif
  return (float2)(LOAD1(at), left > 1 ? LOAD1(at + 1) : 0.0f);
}

// Adds four pairs, each times its factor, in ascending order.
INLINE float2 add_four(const float4 factors, const float2 a, const float2 b, const float2 c, const float2 d, const float2 sum) {
  return fma(factors.w, d, fma(factors.z, c, fma(factors.y, b, fma(factors.x, a, sum))));
}

// A tile of queries. `values` are this work-item's pairs for its own queries, of the splits so far.
typedef struct {
  int furthest;  // the largest of the queries' own positions
  int nearest;   // the smallest of them
  int earliest;  // the smallest of the first positions that they see
  float2 values[EACH][VALUES];
#if TREES
  Path path;
#endif
  SLOPES_OF_TILE
} Tile;

// Arrays stay in registers if loops over them are unrolled. PoCL has no use for it, and has compiled such loops wrongly.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

// The group's local memory.
//   q, p: the queries, and their scores or weights. parts, eighths: sums (or maxima) of a split, and eighths of their trees.
//   tops, sums: of each query, over the splits so far. keeps, takes, split_tops: the factors and the maximum of the last split.
//   firsts, lasts: the first position that a query sees, and its own.
#define LOCAL_MEMORY                                                   \
  __local float4 q_vectors[TILE * QUERY_VECTORS], p_vectors[TILE * SPLIT / 4]; \
  __local float4 part_vectors[TILE * 16], eighth_vectors[TILE * 2];    \
  __local float results[5 * TILE];                                     \
  __local int seen[2 * TILE];                                          \
  const Memory memory = {(__local float *)q_vectors, (__local float *)p_vectors, (__local float *)part_vectors, \
                         (__local float *)eighth_vectors, results, results + TILE, results + 2 * TILE,          \
                         results + 3 * TILE, results + 4 * TILE, seen, seen + TILE}
typedef struct {
  __local float *q, *p, *parts, *eighths, *tops, *sums, *keeps, *takes, *split_tops;
  __local int *firsts, *lasts;
} Memory;
// Vectors in local memory at places that are aligned for them. vload4() promises no alignment, so a card would load four
// numbers one by one.
#define FOUR_AT(p) (*(__local const float4 *)(p))
#define TWO_AT(p) (*(__local float2 *)(p))

// The tree of 64 sums, 64 -> 32 -> ... -> 1 (group_sum): first an eighth of it, from sum j of 0..7 on, then the rest.
INLINE float eighth_of_tree(__local const float *a) {
  return ((a[0] + a[32]) + (a[16] + a[48])) + ((a[8] + a[40]) + (a[24] + a[56]));
}
INLINE float tree_of_eighths(__local const float *eighths) {
  const float4 low = FOUR_AT(eighths), high = FOUR_AT(eighths + 4), sums = low + high;
  return (sums.x + sums.z) + (sums.y + sums.w);
}
INLINE float largest_eighth(__local const float *a) {
  return larger(larger(larger(a[0], a[8]), larger(a[16], a[24])), larger(larger(a[32], a[40]), larger(a[48], a[56])));
}
INLINE float largest_of_eighths(__local const float *e) {
  return larger(larger(larger(e[0], e[1]), larger(e[2], e[3])), larger(larger(e[4], e[5]), larger(e[6], e[7])));
}

// Computes the scores of a split; -INFINITY from `end` on and at positions that a query does not see.
INLINE void score_split(Tile *t, const Memory memory, __global const ELEMENT *k, const int first, const int end, const float scale) {
  for (int at = 2 * get_local_id(0); at < SPLIT; at += 128) {
    const int n = first + at;
    float2 scores[TILE];
    UNROLL
    for (int i = 0; i < TILE; ++i) scores[i] = 0.0f;
    if (n < end) {
      __global const ELEMENT *key = KEY_AT(n);
#if TREES
      __global const ELEMENT *next_key = KEY_AT(min(n + 1, end - 1));
#define PAIR_OF_KEYS(d) (float2)(LOAD1(key + (d)*16), LOAD1(next_key + (d)*16))
#else
#define PAIR_OF_KEYS(d) load_pair(key + (d)*16, 2, 1)
#endif
      int d = 0;
      for (; d < HEAD_DIM / 4 * 4; d += 4) {
        const float2 pair0 = PAIR_OF_KEYS(d), pair1 = PAIR_OF_KEYS(d + 1), pair2 = PAIR_OF_KEYS(d + 2), pair3 = PAIR_OF_KEYS(d + 3);
        UNROLL
        for (int i = 0; i < TILE; ++i) {
          const float4 q = FOUR_AT(memory.q + i * QUERY_VECTORS * 4 + d);
          scores[i] = add_four(q, pair0, pair1, pair2, pair3, scores[i]);
        }
      }
      for (; d < HEAD_DIM; ++d) {
        const float2 pair = PAIR_OF_KEYS(d);
        UNROLL
        for (int i = 0; i < TILE; ++i) scores[i] = fma(memory.q[i * QUERY_VECTORS * 4 + d], pair, scores[i]);
      }
    }
    UNROLL
    for (int i = 0; i < TILE; ++i) {
      const float2 scaled = scores[i] * scale;
      TWO_AT(memory.p + i * SPLIT + at) = (float2)(n >= memory.firsts[i] && n <= memory.lasts[i] ? scaled.x : -INFINITY,
                                                   n + 1 >= memory.firsts[i] && n + 1 <= memory.lasts[i] ? scaled.y : -INFINITY);
    }
  }
}

// Turns the scores of a split into weights, and joins their maxima and sums to those of the earlier splits.
INLINE void weigh_split(Tile *t, const Memory memory, const int first, const float soft_cap) {
  const int lane = get_local_id(0);
  UNROLL
  for (int i = 0; i < TILE; ++i) {
    float largest = -INFINITY;
    for (int n = lane; n < SPLIT; n += 64) {
      float score = memory.p[i * SPLIT + n];
      if (soft_cap > 0.0f && score > -INFINITY) score = soft_cap1(score, soft_cap);  // unseen positions stay at -INFINITY
#if SLOPES
      score = fma(-t->slopes[i], fabs((float)(t->own[i] - first - n)), score);
#endif
      if (SLOPES || soft_cap > 0.0f) memory.p[i * SPLIT + n] = score;
      largest = larger(largest, score);
    }
    memory.parts[i * 64 + lane] = largest;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __local const float *tree = memory.parts + lane / 8 * 64 + lane % 8;  // of query lane / 8
  if (lane < TILE * 8) memory.eighths[lane] = largest_eighth(tree);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL
  for (int i = 0; i < TILE; ++i) {
    const float top = largest_of_eighths(memory.eighths + i * 8), base = top == -INFINITY ? 0.0f : top;
    if (lane == i) memory.split_tops[i] = top;
    float sum = 0.0f;
    for (int n = lane; n < SPLIT; n += 64) {
      const float e = exp1(memory.p[i * SPLIT + n] - base);
      memory.p[i * SPLIT + n] = e;
      sum += e;
    }
    memory.parts[i * 64 + lane] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < TILE * 8) memory.eighths[lane] = eighth_of_tree(tree);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < TILE) {
    const Merge m = merge(memory.tops[lane], memory.split_tops[lane]);
    memory.tops[lane] = m.top;
    memory.sums[lane] = fma(tree_of_eighths(memory.eighths + lane * 8), m.take, memory.sums[lane] * m.keep);
    memory.keeps[lane] = m.keep;
    memory.takes[lane] = m.take;
  }
}

// The first query of a work-item's part, and its query i. The last part may lack a query; then it repeats one.
#define FIRST_OF_PART ((int)(get_local_id(0) / PART_ITEMS) * EACH)
#define OF_PART(i) min(FIRST_OF_PART + (i), TILE - 1)
#define WEIGHTS_OF_PART(i) (memory.p + OF_PART(i) * SPLIT)
#define FIRST_PAIR (2 * (get_local_id(0) % PART_ITEMS))

// Adds up the weighted values of a split.
INLINE void add_values(Tile *t, const Memory memory, __global const ELEMENT *v, const int first, const int end) {
  const int shared_end = min(end, t->nearest + 1);  // all queries see the positions before it
  UNROLL
  for (int c = 0; c < VALUES; ++c) {
    const int d = FIRST_PAIR + c * 2 * PART_ITEMS, left = HEAD_DIM_V - d;
    if (left <= 0) break;
    float2 acc[EACH];
    UNROLL
    for (int i = 0; i < EACH; ++i) acc[i] = 0.0f;
// Rows of an odd number of values begin at odd halves too.
#define PAIR_OF_VALUES(n) load_pair(VALUES_AT(n) + d, left, HEAD_DIM_V % 2 == 0)
    int n = max(first, t->earliest);  // the weight of positions before a query's first one is 0
    for (; n < shared_end && n % 4 != 0; ++n) {
      const float2 pair = PAIR_OF_VALUES(n);
      UNROLL
      for (int i = 0; i < EACH; ++i) acc[i] = fma(WEIGHTS_OF_PART(i)[n - first], pair, acc[i]);
    }
    for (; n + 3 < shared_end; n += 4) {
      const float2 pair0 = PAIR_OF_VALUES(n), pair1 = PAIR_OF_VALUES(n + 1), pair2 = PAIR_OF_VALUES(n + 2),
                   pair3 = PAIR_OF_VALUES(n + 3);
      UNROLL
      for (int i = 0; i < EACH; ++i) {
        const float4 weights = FOUR_AT(WEIGHTS_OF_PART(i) + n - first);
        acc[i] = add_four(weights, pair0, pair1, pair2, pair3, acc[i]);
      }
    }
    for (; n < end; ++n) {
      const float2 pair = PAIR_OF_VALUES(n);
      UNROLL
      for (int i = 0; i < EACH; ++i) {
        // A query must not even multiply an unseen position by zero: the cache may hold anything there.
        if (n <= memory.lasts[OF_PART(i)]) acc[i] = fma(WEIGHTS_OF_PART(i)[n - first], pair, acc[i]);
      }
    }
    UNROLL
    for (int i = 0; i < EACH; ++i) t->values[i][c] = fma(acc[i], memory.takes[OF_PART(i)], t->values[i][c] * memory.keeps[OF_PART(i)]);
  }
}

// Adds the positions [first, first + SPLIT) to the tile; their keys and values begin at k and v.
INLINE void attend_split(Tile *t, const Memory memory, __global const ELEMENT *k, __global const ELEMENT *v, const int first,
                         const float scale, const float soft_cap) {
  const int end = min(first + SPLIT, t->furthest + 1);
  score_split(t, memory, k, first, end, scale);
  barrier(CLK_LOCAL_MEM_FENCE);
  weigh_split(t, memory, first, soft_cap);
  barrier(CLK_LOCAL_MEM_FENCE);
  add_values(t, memory, v, first, end);
  barrier(CLK_LOCAL_MEM_FENCE);  // the next split writes the scores
}

// Loads the tile's queries. A last tile that is not full repeats its last query; the repeats are not stored.
INLINE void load_tile(Tile *t, const Memory memory, __global const float *q, __global const int *positions,
                      const Queries queries, const int kv_head, const int group, const int q_stride, const int window) {
  t->furthest = 0;
  t->nearest = t->earliest = INT_MAX;
  UNROLL
  for (int i = 0; i < TILE; ++i) {
    const int n = min(queries.first + i, queries.queries - 1), s = queries.token + n / group;
    __global const float *from = q + (size_t)s * q_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM;
    for (int d = get_local_id(0); d < HEAD_DIM; d += 64) memory.q[i * QUERY_VECTORS * 4 + d] = from[d];
    const int last = positions[s], earliest = FIRST_SEEN(last, window);
    t->earliest = min(t->earliest, earliest);
    t->furthest = max(t->furthest, last);
    t->nearest = min(t->nearest, last);
    if (get_local_id(0) == 0) {
      memory.firsts[i] = earliest;
      memory.lasts[i] = last;
      memory.tops[i] = -INFINITY;
      memory.sums[i] = 0.0f;
    }
  }
  UNROLL
  for (int i = 0; i < EACH; ++i) {
    UNROLL
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
  LOCAL_MEMORY;
  const int kv_head = get_group_id(1);
  const Queries queries = queries_of(get_group_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;  // the whole group returns
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, memory, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  for (int first = t.earliest / SPLIT * SPLIT; first <= t.furthest; first += SPLIT) {
    attend_split(&t, memory, CACHE_OF(cache_k, HEAD_DIM, first), CACHE_OF(cache_v, HEAD_DIM_V, first), first, scale, soft_cap);
  }
  UNROLL
  for (int i = 0; i < EACH; ++i) {
    const int own = FIRST_OF_PART + i, n = queries.first + own, s = queries.token + n / group;
    if (own >= TILE || n >= queries.queries) break;
    __global float *y = PTR(float, y) + (size_t)s * y_stride + (size_t)(kv_head * group + n % group) * HEAD_DIM_V;
    const float sum = sum_with_sink(memory.sums[own], memory.tops[own], PTR(const float, sinks), kv_head * group + n % group);
    UNROLL
    for (int c = 0; c < VALUES; ++c) {
      const int d = FIRST_PAIR + c * 2 * PART_ITEMS;
      if (d < HEAD_DIM_V) y[d] = result(t.values[i][c].x, sum);
      if (d + 1 < HEAD_DIM_V) y[d + 1] = result(t.values[i][c].y, sum);
    }
  }
}

__kernel void attention_split_simt(BUFFER(q), BUFFER(positions), BUFFER(begins), BUFFER(pages), BUFFER(paths), BUFFER(cache_k), BUFFER(cache_v),
                                   BUFFER(scratch), BUFFER(slopes), BUFFER(token_positions), const int S, const int group, const int segments, const int first_token,
                                   const int depth, const int pages_each, const int page_count, const int q_stride, const float scale,
                                   const float soft_cap, const int share_begin, const int share_end, const int window) {
  LOCAL_MEMORY;
  const Queries queries = queries_of(get_group_id(0), TILE, PTR(const int, begins), segments, first_token, S, group);
  if (queries.segment < 0) return;  // the whole group returns
  const int last = PTR(const int, positions)[queries.token + (queries.queries - 1) / group];
  if (!is_in_share(last, get_group_id(2), share_begin, share_end)) return;
  const int kv_head = get_group_id(1), split = get_group_id(2);
  const int heads = get_num_groups(1) * group;
  Tile t;
  FOLLOW_PATH(t);
  load_tile(&t, memory, PTR(const float, q), PTR(const int, positions), queries, kv_head, group, q_stride, window);
  LOAD_SLOPES(t);
  // The group runs a split that the tile does not see over no positions, since all must meet the barriers. The merge
  // does not read it.
  attend_split(&t, memory, CACHE_OF(cache_k, HEAD_DIM, split * SPLIT), CACHE_OF(cache_v, HEAD_DIM_V, split * SPLIT), split * SPLIT,
               scale, soft_cap);
  UNROLL
  for (int i = 0; i < EACH; ++i) {
    const int own = FIRST_OF_PART + i, n = queries.first + own;
    if (own >= TILE || n >= queries.queries) break;
    const size_t query = (size_t)(queries.token + n / group) * heads + kv_head * group + n % group;
    __global float *record = PTR(float, scratch) + (query * pages_each + split) * RECORD;
    if (get_local_id(0) % PART_ITEMS == 0) {
      record[0] = memory.tops[own];
      record[1] = memory.sums[own];
    }
    UNROLL
    for (int c = 0; c < VALUES; ++c) {
      const int d = FIRST_PAIR + c * 2 * PART_ITEMS;
      if (d < HEAD_DIM_V) record[2 + d] = t.values[i][c].x;
      if (d + 1 < HEAD_DIM_V) record[3 + d] = t.values[i][c].y;
    }
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
