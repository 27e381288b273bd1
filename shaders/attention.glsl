// The body of attention_{simd,simt}.comp.
//
// Work: LANES invocations share a tile of TILE queries of one KV head. In a split an invocation takes:
//   for the scores        pairs of neighbouring positions (one word of an f16 cache_k holds both).
//   for the softmax       the sums lane, lane + LANES, ... of trees.glsl, of every query. The trees of all queries share
//                         their barriers.
//   for the weighted sum  pairs of neighbouring value elements (one word of an f16 cache_v, if rows are whole words). Rows
//                         that take half of the lanes are computed by two halves, each for half of the queries.
// Queries, scores and sums are in shared memory: 4 * (TILE * (HEAD_DIM + 3 + SPLIT + HEAD_DIM_V + 72) + 7 * MAX_TILE)
// bytes. Loads from there take four numbers at once, because they cost a graphics card more than multiply-adds.
// The eight accumulators of a pair are written out instead of looped over: an array would not stay in registers.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int HEAD_DIM = 64;
layout(constant_id = 1) const int HEAD_DIM_V = 64;
layout(constant_id = 2) const int KV_F16 = 1;
layout(constant_id = 3) const int TILE = 4;
layout(constant_id = 4) const int SPLIT = 256;
layout(constant_id = 5) const int ROUND_F16 = 0;
layout(constant_id = 6) const int SHARES = 16;
layout(constant_id = 7) const int TREES = 0;  // whether the batch has trees of drafts
layout(constant_id = 8) const int SINKS = 0;  // whether sums have the exponential of a sink of the head
layout(constant_id = 9) const int SLOPES = 0;  // whether the head's slope times the distance is subtracted from scores
#define MAX_TILE 8
#define MAX_SPLIT 256
#define RECORD uint(2 + HEAD_DIM_V)

#if defined(KERNEL_attention_merge_simd) || defined(KERNEL_attention_merge_simt) || defined(CODES)
#define MERGE
BUFFER(0, float, y);
BUFFER(1, int, positions);
BUFFER(2, float, scratch);
BUFFER(3, float, sinks);
#ifdef CODES
BUFFER(4, uint, codes);
#endif
layout(push_constant) uniform Args {
  uint y_offset, positions_offset, scratch_offset, sinks_offset;
  int heads, splits, y_stride, window;
#ifdef CODES
  uint codes_offset;
#endif
};
#elif defined(KERNEL_attention_split_simd) || defined(KERNEL_attention_split_simt)
#define SPLIT_KERNEL
BUFFER(0, float, q);
BUFFER(1, int, positions);
BUFFER(2, int, begins);
BUFFER(3, int, pages);
BUFFER(4, int, paths);
BUFFER(5, uint, cache_k);
BUFFER(6, uint, cache_v);
BUFFER(7, float, scratch);
BUFFER(8, float, slopes);
BUFFER(9, int, token_positions);
layout(push_constant) uniform Args {
  uint q_offset, positions_offset, begins_offset, pages_offset, paths_offset, cache_k_offset, cache_v_offset, scratch_offset,
      slopes_offset, token_positions_offset;
  int S, group, segments, first_token, depth, pages_each, page_count, q_stride;
  float scale, soft_cap;
  int share_begin, share_end, window;
};
#else
BUFFER(0, float, q);
BUFFER(1, float, y);
BUFFER(2, int, positions);
BUFFER(3, int, begins);
BUFFER(4, int, pages);
BUFFER(5, int, paths);
BUFFER(6, uint, cache_k);
BUFFER(7, uint, cache_v);
BUFFER(8, float, sinks);
BUFFER(9, float, slopes);
BUFFER(10, int, token_positions);
layout(push_constant) uniform Args {
  uint q_offset, y_offset, positions_offset, begins_offset, pages_offset, paths_offset, cache_k_offset, cache_v_offset,
      sinks_offset, slopes_offset, token_positions_offset;
  int S, group, segments, first_token, depth, pages_each, page_count, q_stride, y_stride;
  float scale, soft_cap;
  int window;
};
#endif

float result(const float value, const float sum) {
  const float share = quotient(value, sum);
  return ROUND_F16 != 0 ? round_f16(share) : share;
}

#ifndef SPLIT_KERNEL
// The softmax's sum with the exponential of a head's sink, which no value is weighed by.
float sum_with_sink(const float sum, const float top, const uint head) {
  if (SINKS == 0) return sum;
  precise const float below = sinks[sinks_offset + head] - top, all = sum + exp1(below);
  return all;
}
#endif

#ifdef MERGE
void main() {
  const uint query = gl_WorkGroupID.x, s = query / uint(heads), head = query % uint(heads);
  const int last = positions[positions_offset + s];
  // trips <= TANDEM_MAX_HEAD_DIM / LANES
  for (int d = int(gl_LocalInvocationID.x); d < HEAD_DIM_V; d += LANES) {
    float top = -INFINITY, sum = 0.0, value = 0.0;
    // trips <= TANDEM_MAX_POSITIONS / MAX_SPLIT
    for (int part = FIRST_SEEN(last, window) / SPLIT; part * SPLIT <= last; ++part) {
      const uint record = scratch_offset + (query * uint(splits) + uint(part)) * RECORD;
      const Merge m = merge(top, scratch[record]);
      top = m.top;
      sum = join(scratch[record + 1u], m.take, sum, m.keep);
      value = join(scratch[record + 2u + uint(d)], m.take, value, m.keep);
    }
    const float merged = result(value, sum_with_sink(sum, top, head));
    y[y_offset + s * uint(y_stride) + head * uint(HEAD_DIM_V) + uint(d)] = merged;
#ifdef CODES
    code_tile[CODE_AT(uint(d))] = merged;
#endif
  }
#ifdef CODES
  barrier();
  make_codes_of_tile(0, HEAD_DIM_V, codes_offset + query * (uint(HEAD_DIM_V) / 32u) * ACT_WORDS);
#endif
}

#else
// begins int32 [segments + 1]: segment i has the batch's tokens begins[i] .. begins[i + 1] - 1, and row i of the table
// of pages (engine/device/operators/segments.h). If there is one segment, it has all S tokens, and begins is not read.
// Token 0 of the launch is the batch's first_token.
// A tile of queries of one segment. A query's number is token * group + head in the group; tokens count from the
// segment's first token in the launch.
struct Queries {
  int segment;  // -1: no such tile
  int token;    // the segment's first token in the launch
  int queries;  // the number of queries of all the segment's tokens in the launch
  int first;    // the tile's first query
};

Queries queries_of(const int tile, const int size) {
  if (segments == 1) return Queries(0, 0, S * group, tile * size);
  int before = 0;
  // trips <= TANDEM_MAX_SEGMENTS
  for (int i = 0; i < segments; ++i) {
    const int token = max(begins[begins_offset + uint(i)] - first_token, 0);
    const int tokens = max(min(begins[begins_offset + uint(i + 1)] - first_token, S) - token, 0);
    const int tiles = (tokens * group + size - 1) / size;
    if (tile < before + tiles) return Queries(i, token, tokens * group, (tile - before) * size);
    before += tiles;
  }
  return Queries(-1, 0, 0, 0);
}

// Four elements of a query at once; the last ones may be unused.
const int QUERY_VECTORS = (HEAD_DIM + 3) / 4;
shared vec4 q_tile[TILE * QUERY_VECTORS];
shared vec4 weights[TILE * SPLIT / 4];  // scores, then weights
#define WEIGHT(i, at) weights[((i) * SPLIT + (at)) / 4][(at) % 4]
// For each query of the tile, the results of the splits so far and the factors that joined the last one.
shared float values[TILE * HEAD_DIM_V];
shared float tops[MAX_TILE], sums[MAX_TILE], keeps[MAX_TILE], takes[MAX_TILE];
shared int firsts[MAX_TILE], lasts[MAX_TILE];  // the first position that the query sees, and its own, the last one
// Of each query: the sums (or maxima) of a split, an eighth of their tree, and the split's maximum.
shared float parts[TILE * SUM_LANES], eighths[TILE * 8], split_tops[MAX_TILE];

#define EACH_QUERY(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define WITH(i) if (i < TILE)
// For the weighted sum: rows of at most half as many pairs as lanes are computed by two halves of the lanes.
const int PARTS = HEAD_DIM_V <= LANES && TILE > 1 ? 2 : 1;
const int PART_LANES = LANES / PARTS;
const int EACH = (TILE + PARTS - 1) / PARTS;  // queries of a part
#define OF_PART(i) if (i < EACH)
#define START_PAIR(i) precise float first##i = 0.0, second##i = 0.0;

// Elements at and at + 1 of a cache, `at` even.
#define LOAD_EVEN(name, at) \
  (KV_F16 != 0 ? unpackHalf2x16(name[name##_offset + (at) / 2u]) \
               : uintBitsToFloat(uvec2(name[name##_offset + (at)], name[name##_offset + (at) + 1u])))

float load_value(const uint at) {
  if (KV_F16 == 0) return uintBitsToFloat(cache_v[cache_v_offset + at]);
  return unpackHalf2x16(cache_v[cache_v_offset + at / 2u] >> 16u * (at % 2u)).x;
}
// Elements d and d + 1 of a value row; 0 past its end. Rows of odd length may start at an odd half of a word.
vec2 load_values(const uint row, const int d) {
  if (HEAD_DIM_V % 2 == 0) return LOAD_EVEN(cache_v, row + uint(d));
  return vec2(load_value(row + uint(d)), d + 1 < HEAD_DIM_V ? load_value(row + uint(d + 1)) : 0.0);
}

// The place of a tile's text: its row of paths, its row of pages, and the KV head's page 0.
struct Text {
  uint path, pages, head;
};

// Place `place` of the text for this KV head, as a row of the cache.
uint cache_row(const Text text, const int place) {
  return text.head + uint(pages[text.pages + uint(place / SPLIT)] * SPLIT + place % SPLIT);
}
// Element 0 of the key of a position.
uint key_of(const Text text, const int position) {
  const uint row = cache_row(text, PLACE_OF(position, text.path));
  return row / 16u * 16u * uint(HEAD_DIM) + row % 16u;
}
float load_key(const uint at) {
  if (KV_F16 == 0) return uintBitsToFloat(cache_k[cache_k_offset + at]);
  return unpackHalf2x16(cache_k[cache_k_offset + at / 2u] >> 16u * (at % 2u)).x;
}
// The first value of position n, in a split that begins at `first` and whose values begin at `rows`.
uint values_of(const Text text, const uint rows, const int first, const int n) {
  if (TREES == 0 || n < paths[text.path]) return rows + uint((n - first) * HEAD_DIM_V);
  return cache_row(text, PLACE_OF(n, text.path)) * uint(HEAD_DIM_V);
}

// Computes the scores of the positions [first, first + SPLIT); -inf from `end` on and at positions that a query does
// not see.
void score_split(const Text text, const uint keys, const int first, const int end) {
  // trips <= MAX_SPLIT / 2 / LANES
  for (int at = 2 * int(gl_LocalInvocationID.x); at < SPLIT; at += 2 * LANES) {
    const int n = first + at;
    EACH_QUERY(START_PAIR)
    if (n < end) {
      const uint key = TREES != 0 ? key_of(text, n) : keys + uint(at / 16 * HEAD_DIM * 16 + at % 16);
      const uint next_key = TREES != 0 ? key_of(text, min(n + 1, end - 1)) : 0u;
#define PAIR_OF_KEYS(d) \
  (TREES != 0 ? vec2(load_key(key + uint(d) * 16u), load_key(next_key + uint(d) * 16u)) : LOAD_EVEN(cache_k, key + uint(d) * 16u))
#define ADD_KEYS(i, element, pair)          \
  first##i = fma(element, pair.x, first##i); \
  second##i = fma(element, pair.y, second##i);
#define ADD_FOUR_KEYS(i)                                             \
  WITH(i) {                                                          \
    const vec4 elements = q_tile[i * QUERY_VECTORS + d / 4];         \
    ADD_KEYS(i, elements.x, pair0) ADD_KEYS(i, elements.y, pair1)    \
    ADD_KEYS(i, elements.z, pair2) ADD_KEYS(i, elements.w, pair3)    \
  }
#define ADD_ONE_KEY(i) \
  WITH(i) { ADD_KEYS(i, q_tile[i * QUERY_VECTORS + d / 4][d % 4], pair) }
      // trips <= TANDEM_MAX_HEAD_DIM / 4
      for (int d = 0; d < HEAD_DIM / 4 * 4; d += 4) {
        const vec2 pair0 = PAIR_OF_KEYS(d), pair1 = PAIR_OF_KEYS(d + 1), pair2 = PAIR_OF_KEYS(d + 2), pair3 = PAIR_OF_KEYS(d + 3);
        EACH_QUERY(ADD_FOUR_KEYS)
      }
      // trips <= 3
      for (int d = HEAD_DIM / 4 * 4; d < HEAD_DIM; ++d) {
        const vec2 pair = PAIR_OF_KEYS(d);
        EACH_QUERY(ADD_ONE_KEY)
      }
    }
#define STORE_SCORES(i)                                                       \
  WITH(i) {                                                                   \
    precise const float one = first##i * scale, other = second##i * scale;    \
    WEIGHT(i, at) = n >= firsts[i] && n <= lasts[i] ? one : -INFINITY;        \
    WEIGHT(i, at + 1) = n + 1 >= firsts[i] && n + 1 <= lasts[i] ? other : -INFINITY; \
  }
    EACH_QUERY(STORE_SCORES)
  }
}

// The tile's query i. A last tile that is not full repeats its last query; the repeats are not stored.
int query_of(const Queries queries, const int i) { return min(queries.first + i, queries.queries - 1); }
bool is_stored(const Queries queries, const int i) { return queries.first + i < queries.queries; }

// The score of query i at place `at` of a split, as it is weighed: capped, and with slope * distance (ALiBi) subtracted.
// Unseen positions stay at -INFINITY. A distance is exact as f32.
float biased_score(const int i, const int at, const float slope, const int distance) {
  float score = WEIGHT(i, at);
  if (soft_cap > 0.0 && score > -INFINITY) score = soft_cap1(score, soft_cap);
  if (SLOPES != 0) {
    precise const float biased = fma(-slope, float(abs(distance)), score);
    score = biased;
  }
  return score;
}

// The tree of 64 sums, 64 -> 32 -> ... -> 1 (trees.glsl): first an eighth of it, from sum j of 0..7 on, then the rest.
float eighth_of_tree(const uint at) {
  precise const float a = parts[at] + parts[at + 32u], b = parts[at + 16u] + parts[at + 48u];
  precise const float c = parts[at + 8u] + parts[at + 40u], d = parts[at + 24u] + parts[at + 56u];
  precise const float even = a + b, odd = c + d, sum = even + odd;
  return sum;
}
float tree_of_eighths(const int i) {
  const int at = i * 8;
  precise const float a = eighths[at] + eighths[at + 4], b = eighths[at + 2] + eighths[at + 6];
  precise const float c = eighths[at + 1] + eighths[at + 5], d = eighths[at + 3] + eighths[at + 7];
  precise const float even = a + b, odd = c + d, sum = even + odd;
  return sum;
}
float largest_eighth(const uint at) {
  const float a = larger(larger(parts[at], parts[at + 8u]), larger(parts[at + 16u], parts[at + 24u]));
  return larger(a, larger(larger(parts[at + 32u], parts[at + 40u]), larger(parts[at + 48u], parts[at + 56u])));
}
float largest_of_eighths(const int i) {
  const int at = i * 8;
  const float a = larger(larger(eighths[at], eighths[at + 1]), larger(eighths[at + 2], eighths[at + 3]));
  return larger(a, larger(larger(eighths[at + 4], eighths[at + 5]), larger(eighths[at + 6], eighths[at + 7])));
}

// Puts the maximum of each sum's positions into parts. A maximum is exact in any order.
void find_largest(const Queries queries, const int first) {
  // trips <= MAX_TILE
  for (int i = 0; i < TILE; ++i) {
    float slope = 0.0;
    int own = 0;
    if (SLOPES != 0) {
      const int n = query_of(queries, i);
      slope = slopes[slopes_offset + uint(int(gl_WorkGroupID.y) * group + n % group)];
      own = token_positions[token_positions_offset + uint(queries.token + n / group)];
    }
    // trips <= SUM_LANES / LANES
    for (int s = int(gl_LocalInvocationID.x); s < SUM_LANES; s += LANES) {
      float largest = -INFINITY;
      // trips <= MAX_SPLIT / SUM_LANES   a split has whole groups of 64 positions
      for (int at = s; at < SPLIT; at += SUM_LANES) {
        const float score = biased_score(i, at, slope, own - first - at);
        if (soft_cap > 0.0 || SLOPES != 0) WEIGHT(i, at) = score;
        largest = larger(largest, score);
      }
      parts[i * SUM_LANES + s] = largest;
    }
  }
}

// Turns scores into weights, and puts their sums into parts.
void find_sums() {
  // trips <= MAX_TILE
  for (int i = 0; i < TILE; ++i) {
    const float top = largest_of_eighths(i), base = top == -INFINITY ? 0.0 : top;
    // trips <= SUM_LANES / LANES
    for (int s = int(gl_LocalInvocationID.x); s < SUM_LANES; s += LANES) {
      precise float part_sum = 0.0;
      // trips <= MAX_SPLIT / SUM_LANES
      for (int at = s; at < SPLIT; at += SUM_LANES) {
        precise const float below = WEIGHT(i, at) - base;
        const float e = exp1(below);
        WEIGHT(i, at) = e;
        part_sum += e;
      }
      parts[i * SUM_LANES + s] = part_sum;
    }
    if (int(gl_LocalInvocationID.x) == i) split_tops[i] = top;
  }
}

// Turns the scores of the tile into weights, and joins their maxima and sums to those of the earlier splits.
void weigh_split(const Queries queries, const int first) {
  const int lane = int(gl_LocalInvocationID.x);
  find_largest(queries, first);
  barrier();
  // trips <= MAX_TILE * 8 / LANES
  for (int j = lane; j < TILE * 8; j += LANES) eighths[j] = largest_eighth(uint(j / 8 * SUM_LANES + j % 8));
  barrier();
  find_sums();
  barrier();
  // trips <= MAX_TILE * 8 / LANES
  for (int j = lane; j < TILE * 8; j += LANES) eighths[j] = eighth_of_tree(uint(j / 8 * SUM_LANES + j % 8));
  barrier();
  if (lane < TILE) {
    const Merge m = merge(tops[lane], split_tops[lane]);
    tops[lane] = m.top;
    sums[lane] = join(tree_of_eighths(lane), m.take, sums[lane], m.keep);
    keeps[lane] = m.keep;
    takes[lane] = m.take;
  }
}

// Adds up the weighted values over [begin, end) of a split that begins at `first`. From `shared_end` on only some
// queries see a position. The others must not even multiply it by zero: the cache may hold anything there.
// The weight of a position before a query's first one is 0; `begin` is the earliest first position of the tile.
void add_values(const Text text, const uint rows, const int first, const int begin, const int shared_end, const int end) {
  const int lane = int(gl_LocalInvocationID.x), queries_from = lane / PART_LANES * EACH;
  // trips <= (TANDEM_MAX_HEAD_DIM / 2 + LANES - 1) / LANES
  for (int d = 2 * (lane % PART_LANES); d < HEAD_DIM_V; d += 2 * PART_LANES) {
    EACH_QUERY(START_PAIR)
#define OWN(i) min(queries_from + i, TILE - 1)  // the last half may lack a query
#define ADD_PAIR(i, weight, pair)           \
  first##i = fma(weight, pair.x, first##i); \
  second##i = fma(weight, pair.y, second##i);
#define ADD_SEEN(i) OF_PART(i) { ADD_PAIR(i, WEIGHT(OWN(i), n - first), pair) }
#define ADD_FOUR_SEEN(i)                                                     \
  OF_PART(i) {                                                               \
    const vec4 four = weights[(OWN(i) * SPLIT + n - first) / 4];             \
    ADD_PAIR(i, four.x, pair0) ADD_PAIR(i, four.y, pair1)                    \
    ADD_PAIR(i, four.z, pair2) ADD_PAIR(i, four.w, pair3)                    \
  }
#define VALUES_AT(n) load_values(values_of(text, rows, first, n), d)
    int n = begin;
    // trips <= 3   up to a whole vector of weights
    for (; n < shared_end && n % 4 != 0; ++n) {
      const vec2 pair = VALUES_AT(n);
      EACH_QUERY(ADD_SEEN)
    }
    // trips <= MAX_SPLIT / 4
    for (; n + 3 < shared_end; n += 4) {
      const vec2 pair0 = VALUES_AT(n), pair1 = VALUES_AT(n + 1), pair2 = VALUES_AT(n + 2), pair3 = VALUES_AT(n + 3);
      EACH_QUERY(ADD_FOUR_SEEN)
    }
    // trips <= MAX_SPLIT
    for (; n < end; ++n) {
      const vec2 pair = VALUES_AT(n);
#define ADD_IF_SEEN(i) OF_PART(i) if (n <= lasts[OWN(i)]) { ADD_PAIR(i, WEIGHT(OWN(i), n - first), pair) }
      EACH_QUERY(ADD_IF_SEEN)
    }
#define JOIN(i)                                                                                                        \
  OF_PART(i) if (queries_from + i < TILE) {                                                                            \
    const int own = queries_from + i, at = own * HEAD_DIM_V + d;                                                       \
    values[at] = join(first##i, takes[own], values[at], keeps[own]);                                                   \
    if (d + 1 < HEAD_DIM_V) values[at + 1] = join(second##i, takes[own], values[at + 1], keeps[own]);                  \
  }
    EACH_QUERY(JOIN)
  }
}

// Adds the positions [first, first + SPLIT) to the tile. `earliest` is the smallest first position of its queries;
// `nearest` and `furthest` are the smallest and the largest last one.
void attend_split(const Queries queries, const Text text, const int first, const int earliest, const int nearest, const int furthest) {
  const int end = min(first + SPLIT, furthest + 1);
  const uint row = cache_row(text, first);
  score_split(text, row * uint(HEAD_DIM), first, end);
  barrier();
  weigh_split(queries, first);
  barrier();
  add_values(text, row * uint(HEAD_DIM_V), first, max(first, earliest), min(end, nearest + 1), end);
  barrier();  // the next split writes weights
}

void main() {
  const int lane = int(gl_LocalInvocationID.x), kv_head = int(gl_WorkGroupID.y);
  const Queries queries = queries_of(int(gl_WorkGroupID.x), TILE);
  if (queries.segment < 0) return;
  const Text text = Text(paths_offset + uint(queries.segment * (1 + depth)), pages_offset + uint(queries.segment * pages_each),
                         uint(kv_head * page_count) * uint(SPLIT));
#ifdef SPLIT_KERNEL
  const int last_token = queries.token + (queries.queries - 1) / group;
  const int part = int(gl_WorkGroupID.z), seen = positions[positions_offset + uint(last_token)] / SPLIT + 1;
  if (part < seen * share_begin / SHARES || part >= seen * share_end / SHARES) return;  // another device's share
#endif
  int earliest = 0x7fffffff, nearest = 0x7fffffff, furthest = 0;
  // trips <= MAX_TILE
  for (int i = 0; i < TILE; ++i) {
    const int n = query_of(queries, i), s = queries.token + n / group, last = positions[positions_offset + uint(s)];
    const uint from = q_offset + uint(s) * uint(q_stride) + uint((kv_head * group + n % group) * HEAD_DIM);
    earliest = min(earliest, FIRST_SEEN(last, window));
    nearest = min(nearest, last);
    furthest = max(furthest, last);
    // trips <= TANDEM_MAX_HEAD_DIM / LANES
    for (int d = lane; d < HEAD_DIM; d += LANES) q_tile[i * QUERY_VECTORS + d / 4][d % 4] = q[from + uint(d)];
    // trips <= TANDEM_MAX_HEAD_DIM / LANES
    for (int d = lane; d < HEAD_DIM_V; d += LANES) values[i * HEAD_DIM_V + d] = 0.0;
    if (lane == 0) {
      firsts[i] = FIRST_SEEN(last, window);
      lasts[i] = last;
      tops[i] = -INFINITY;
      sums[i] = 0.0;
    }
  }
  barrier();

#ifdef SPLIT_KERNEL
  const int heads = int(gl_NumWorkGroups.y) * group;
  if (part * SPLIT > furthest || (part + 1) * SPLIT <= earliest) return;  // the merge does not read this split
  attend_split(queries, text, part * SPLIT, earliest, nearest, furthest);
  // trips <= MAX_TILE
  for (int i = 0; i < TILE; ++i) {
    if (!is_stored(queries, i)) break;
    const int n = query_of(queries, i);
    const uint query = uint((queries.token + n / group) * heads + kv_head * group + n % group);
    const uint record = scratch_offset + (query * uint(pages_each) + uint(part)) * RECORD;
    if (lane == 0) {
      scratch[record] = tops[i];
      scratch[record + 1u] = sums[i];
    }
    // trips <= TANDEM_MAX_HEAD_DIM / LANES
    for (int d = lane; d < HEAD_DIM_V; d += LANES) scratch[record + 2u + uint(d)] = values[i * HEAD_DIM_V + d];
  }
#else
  // trips <= TANDEM_MAX_SPLITS_IN_TURN
  for (int first = earliest / SPLIT * SPLIT; first <= furthest; first += SPLIT)
    attend_split(queries, text, first, earliest, nearest, furthest);
  // trips <= MAX_TILE
  for (int i = 0; i < TILE; ++i) {
    if (!is_stored(queries, i)) break;
    const int n = query_of(queries, i);
    const uint to = y_offset + uint(queries.token + n / group) * uint(y_stride) + uint((kv_head * group + n % group) * HEAD_DIM_V);
    const float sum = sum_with_sink(sums[i], tops[i], uint(kv_head * group + n % group));
    // trips <= TANDEM_MAX_HEAD_DIM / LANES
    for (int d = lane; d < HEAD_DIM_V; d += LANES) y[to + uint(d)] = result(values[i * HEAD_DIM_V + d], sum);
  }
#endif
}
#endif
