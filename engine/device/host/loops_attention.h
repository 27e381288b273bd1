// Attention for a tile of queries of one KV head, split by split of kSplit absolute positions (order: docs/numbers.md).
//
// A score is one fma chain over the head. A value element is one chain over ascending positions. Splits are merged in
// ascending order. The queries of a tile share every load and conversion of K and V. Positions beyond a query's own do
// not touch its maximum, sums and values, so the tile changes no bit.
// Measured in GFLOP/s (f16 cache; 9 heads, 3 KV heads, d = 64).
//   Zen 5 core, in brackets before tiles. AVX-512: 128 tokens at position 0: 153 (58-62), at 768: 195 (71-92); one
//   token at 1023: 187 (77-95). AVX2, the same three: 87 (46-54), 102 (57-76), 82 (69-77).
//   Zen 4 core, peak 117.5, AVX-512, tiles of 6 queries (in brackets of 12): 256 tokens at 0: 89 (84), at 768: 96 (90).
#pragma once

#include "engine/device/host/loops.h"
#include "engine/device/host/loops_lanes.h"

namespace tandem::host {
namespace {

constexpr int kSplit = 256;  // = kAttentionSplit = kCachePage: a split lies in one page
// How far ahead the values are prefetched, in bytes. The blocks of keys that are read at once form as many streams of 2
// KiB. These are too short for a processor to foresee, so the loops prefetch what they read next. Measured (Xeon with
// AVX-512, one token at 4,000 of 30 layers' caches in memory, 9 heads, 3 KV heads, d = 64): 13.9 GB/s, 10.6 without;
// plain reads 17.4.
constexpr int64_t kValuesAhead = 2048;
constexpr int kSecondCache = 2;  // locality argument of __builtin_prefetch: into the second cache

// The most queries of a tile, and at_once(T): the blocks of 16 positions, or vectors of a value row, that are in
// registers beside T queries. There are at least 8 chains if the registers allow it, which hides the latency of two fma
// a cycle. at_once(T) divides 4, since the capacity is a multiple of 64. Each step loads an element for each query and
// a key for each block. So six queries and four blocks need ten loads for 24 products; twelve and two need 14.
#if defined(__AVX512F__)
constexpr int kAttendTile = 12, kFastTile = 6;
constexpr int at_once(int T) { return T <= 6 ? 4 : 2; }
#elif defined(__AVX2__)
constexpr int kAttendTile = 6, kFastTile = 6;  // 12 of 16 registers; a vector is two registers
constexpr int at_once(int T) { return T == 1 ? 4 : T == 2 ? 2 : 1; }
#else
constexpr int kAttendTile = 2, kFastTile = 2;  // a vector is four registers
constexpr int at_once(int T) { return T == 1 ? 2 : 1; }
#endif

LANES_INLINE Lanes load_cache(const float* from) { return load(from); }
LANES_INLINE Lanes load_cache(const uint16_t* from) { return from_halves(from); }
template <bool part, typename Element>
LANES_INLINE Lanes load_values(const Element* from, int64_t left) {
  if constexpr (!part) return load_cache(from);
  Element lanes[16] = {};
  std::memcpy(lanes, from, static_cast<size_t>(left) * sizeof(Element));
  return load_cache(lanes);
}

// Start of the page of the tile's keys or values that holds place `first`.
template <typename Element>
LANES_INLINE const Element* in_page(const void* base, size_t page_bytes, const AttendArgs& args, int64_t first) {
  const auto page = static_cast<size_t>(args.pages[first / kSplit]);
  return reinterpret_cast<const Element*>(static_cast<const char*>(base) + page * page_bytes);
}

// The place of a position in its sequence.
LANES_INLINE int64_t place_at(const AttendArgs& args, int64_t position) {
  return position < args.tree_begin ? position : args.path[position - args.tree_begin];
}
// The addresses of a position's values and of its keys. Element d of the keys lies d * 16 behind the first one.
template <typename Element>
LANES_INLINE const Element* values_at(const AttendArgs& args, int64_t position) {
  const int64_t place = place_at(args, position);
  return in_page<Element>(args.v, args.v_page_bytes, args, place) + place % kSplit * args.head_dim_v;
}
template <typename Element>
LANES_INLINE const Element* keys_at(const AttendArgs& args, int64_t position) {
  const int64_t place = place_at(args, position);
  return in_page<Element>(args.k, args.k_page_bytes, args, place) + place % kSplit / 16 * 16 * args.head_dim +
         place % 16;
}

// The state of a tile of T queries: the results of the splits so far.
template <int T>
struct Tile {
  alignas(64) float p[T][kSplit];  // scores, then weights, of the current split
  alignas(64) float values[T][kMaxHeadDimV];
  float top[T], sum[T];
  float keep[T], take[T];    // factors of the results so far and of the new split
  int64_t common, furthest;  // the smallest and the largest of the queries' last positions
  int64_t earliest, latest;  // the smallest and the largest of the queries' first positions
};

// The keys of blocks that follow each other in memory: element d of the 16 positions of block j. While it loads keys,
// it prefetches the values of these positions into the second cache; mostly they are as many bytes.
template <int B, typename Element>
struct BlocksInTurn {
  const Element *keys, *values;
  int64_t dim;
  __attribute__((always_inline)) Lanes load(int64_t j, int64_t d) const {
    const Element* key = keys + (j * dim + d) * 16;
    if (d * 16 * static_cast<int64_t>(sizeof(Element)) % 64 == 0) {
      __builtin_prefetch(key + B * dim * 16);
      __builtin_prefetch(values + (j * dim + d) * 16, 0, kSecondCache);
    }
    return load_cache(key);
  }
};

// The keys of one block whose positions lie at any places.
template <typename Element>
struct BlockOfPlaces {
  const Element* keys[16];
  __attribute__((always_inline)) Lanes load(int64_t /*j*/, int64_t d) const {
    alignas(64) Element lanes[16];
    for (int i = 0; i < 16; ++i) lanes[i] = keys[i][d * 16];
    return load_cache(lanes);
  }
};

// Writes the scores of B blocks to p, and -inf at positions that a query does not see. When every query sees all
// positions, the fast path needs no comparisons.
template <int T, int B, typename Keys>
void score_blocks(const AttendArgs& args, const Keys& keys, int64_t first, int64_t block, Lanes* tops, Tile<T>& tile) {
  const int64_t dim = args.head_dim;
  Lanes scores[T][B];
#pragma GCC unroll 12
  for (int i = 0; i < T; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) scores[i][j] = all(0.0f);
  for (int64_t d = 0; d < dim; ++d) {
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) {
      const Lanes k = keys.load(j, d);
#pragma GCC unroll 12
      for (int i = 0; i < T; ++i) scores[i][j] = fma(all(args.q[i][d]), k, scores[i][j]);
    }
  }
  if (first >= tile.latest && block + 16 * B - 1 <= tile.common) {  // every query sees all positions
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) {
#pragma GCC unroll 12
      for (int i = 0; i < T; ++i) {
        const Lanes score = scores[i][j] * all(args.score.scale);
        tops[i] = larger(tops[i], score);
        store(tile.p[i] + (block - first) + 16 * j, score);
      }
    }
    return;
  }
#pragma GCC unroll 4
  for (int j = 0; j < B; ++j) {
    const Words positions = counting_from(static_cast<int32_t>(block + 16 * j));
#pragma GCC unroll 12
    for (int i = 0; i < T; ++i) {
      const Lanes unseen = all(-__builtin_inff());
      const Words beyond = greater(positions, static_cast<int32_t>(args.last[i]));
      Lanes score = select(beyond, unseen, scores[i][j] * all(args.score.scale));
      if (first < tile.latest)
        score = select(greater(positions, static_cast<int32_t>(args.first[i] - 1)), score, unseen);
      tops[i] = larger(tops[i], score);
      store(tile.p[i] + (block - first) + 16 * j, score);
    }
  }
}

// The scores of B blocks that lie in a row in one page.
template <int T, int B, typename Element>
void score_in_turn(const AttendArgs& args, const Element* page, int64_t first, int64_t block, Lanes* tops,
                   Tile<T>& tile) {
  const auto* values = in_page<Element>(args.v, args.v_page_bytes, args, first) + (block - first) * args.head_dim_v;
  const BlocksInTurn<B, Element> keys{page + (block - first) * args.head_dim, values, args.head_dim};
  score_blocks<T, B>(args, keys, first, block, tops, tile);
}

// Caps the scores of one query at the first `count` positions of a split and returns the largest. Scores of unseen
// positions stay -inf. This is a separate pass, so models without a cap do not pay for it.
LANES_INLINE Lanes cap_scores(float* scores, int64_t count, float cap) {
  const Lanes unseen = all(-__builtin_inff());
  Lanes top = unseen;
  for (int64_t n = 0; n < count; n += 16) {
    const Lanes score = load(scores + n), capped = select(score > unseen, soft_cap(score, cap), unseen);
    top = larger(top, capped);
    store(scores + n, capped);
  }
  return top;
}

// Subtracts slope * |own - position| from the scores of one query at the `count` positions from `first` on, and returns
// the largest. Scores of unseen positions stay -inf. It is a separate pass, like that of a cap.
LANES_INLINE Lanes subtract_distances(float* scores, int64_t first, int64_t count, float slope, int64_t own) {
  Lanes top = all(-__builtin_inff());
  for (int64_t n = 0; n < count; n += 16) {
    const Lanes distance = distances(static_cast<int32_t>(own), static_cast<int32_t>(first + n));
    const Lanes score = fma(all(-slope), distance, load(scores + n));
    top = larger(top, score);
    store(scores + n, score);
  }
  return top;
}

// Finds the largest score of each query at the positions [first, end). Positions below a tree's begin are read in
// blocks; those of a tree are collected from their places.
template <int T, typename Element>
void score_split(const AttendArgs& args, int64_t first, int64_t end, float* largest, Tile<T>& tile) {
  constexpr int B = at_once(T);
  // Blocks at once at the end of a split. With few queries, a single block has too few chains to hide the latency of
  // fma. So B blocks are computed at once there too; blocks that no query sees then cost nothing.
  constexpr int kRest = T > 4 ? 1 : B;
  const auto* page = in_page<Element>(args.k, args.k_page_bytes, args, first);
  Lanes tops[T];
  for (Lanes& top : tops) top = all(-__builtin_inff());
  int64_t block = first;
  if (args.tree_begin >= end) {
    for (; block + 16 * B < end + 16; block += 16 * B) score_in_turn<T, B>(args, page, first, block, tops, tile);
    for (; block < end; block += 16 * kRest) score_in_turn<T, kRest>(args, page, first, block, tops, tile);
  } else {
    for (; block + 16 * B <= args.tree_begin; block += 16 * B)
      score_in_turn<T, B>(args, page, first, block, tops, tile);
    for (; block < end; block += 16) {
      BlockOfPlaces<Element> keys;
      for (int i = 0; i < 16; ++i) keys.keys[i] = keys_at<Element>(args, block + i < end ? block + i : end - 1);
      score_blocks<T, 1>(args, keys, first, block, tops, tile);
    }
  }
  for (int i = 0; i < T; ++i) {
    if (args.score.soft_cap > 0) tops[i] = cap_scores(tile.p[i], end - first, args.score.soft_cap);
    if (args.has_slopes) tops[i] = subtract_distances(tile.p[i], first, end - first, args.slopes[i], args.own[i]);
    largest[i] = largest_lane(tops[i]);
  }
}

// Turns the scores at `count` positions into weights. A query whose last position lies before the split finds only
// -inf. Then its weights are 0 and keep is 1.
template <int T>
void weigh(const float* largest, int64_t count, Tile<T>& tile) {
  const float lowest = -__builtin_inff();
  constexpr int kScales = (2 * T + 15) / 16 * 16;
  float sums[T], scales[kScales] = {};
  for (int i = 0; i < T; ++i) {
    const Lanes base = all(largest[i] == lowest ? 0.0f : largest[i]);
    RowSums lanes = no_sums();
    each_part_of_row(
        count, lanes, [&](int64_t n, Lanes & sum) __attribute__((always_inline)) {
          const Lanes e = exp_of_none_above_0(load(tile.p[i] + n) - base);
          store(tile.p[i] + n, e);
          sum = sum + e;
        });
    sums[i] = sum_row(lanes);
    const float next = largest[i] > tile.top[i] ? largest[i] : tile.top[i], next_base = next == lowest ? 0.0f : next;
    scales[i] = tile.top[i] - next_base;
    scales[T + i] = largest[i] - next_base;
    tile.top[i] = next;
  }
  for (int i = 0; i < kScales; i += 16) store(scales + i, exp_of_none_above_0(load(scales + i)));
  for (int i = 0; i < T; ++i) {
    tile.keep[i] = scales[i];
    tile.take[i] = scales[T + i];
    tile.sum[i] = __builtin_fmaf(sums[i], tile.take[i], tile.sum[i] * tile.keep[i]);
  }
}

// values = keep * values + take * (p . V), for W vectors of the value row from column c on, or for the short last
// vector. The rows that all queries see come first and share their loads. The remaining rows are added query by query.
template <int T, int W, bool part, typename Element>
void add_columns(const AttendArgs& args, int64_t first, int64_t end, int64_t c, Tile<T>& tile) {
  const int64_t width = args.head_dim_v, shared_end = tile.common + 1 < end ? tile.common + 1 : end;
  const Element* row = in_page<Element>(args.v, args.v_page_bytes, args, first) + c;
  Lanes acc[T][W];
#pragma GCC unroll 12
  for (int i = 0; i < T; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j) acc[i][j] = all(0.0f);
  // Positions before a query's first position have the weight 0.
  int64_t n = tile.earliest > first ? tile.earliest : first;
  row += (n - first) * width;
  const auto add_row = [&](const Element* values) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j) {
      const Lanes v = load_values<part>(values + 16 * j, width - c);
#pragma GCC unroll 12
      for (int i = 0; i < T; ++i) acc[i][j] = fma(all(tile.p[i][n - first]), v, acc[i][j]);
    }
  };
  const int64_t straight_end = args.tree_begin < shared_end ? args.tree_begin : shared_end;
  // Meanwhile the keys of the next split, or of the next tile, are prefetched.
  const auto* next_keys = first + kSplit <= tile.furthest
                              ? in_page<Element>(args.k, args.k_page_bytes, args, first + kSplit)
                              : static_cast<const Element*>(args.next_keys);
  const bool more = c == 0 && next_keys != nullptr;
  for (; n < straight_end; ++n, row += width) {
    for (size_t line = 0; line < W * 16 * sizeof(Element); line += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(row) + kValuesAhead + line);
    if (more) {
      const auto* keys = reinterpret_cast<const char*>(next_keys + (n - first) * args.head_dim);
      for (size_t line = 0; line < static_cast<size_t>(args.head_dim) * sizeof(Element); line += 64)
        __builtin_prefetch(keys + line, 0, kSecondCache);
    }
    add_row(row);
  }
  // In a tree: the queries of a tile see the same positions.
  for (; n < shared_end; ++n) add_row(values_at<Element>(args, n) + c);
  // Only some queries see these positions. The others must not even multiply by zero, because the cache may hold
  // anything there.
  for (; n < end; ++n, row += width) {
#pragma GCC unroll 12
    for (int i = 0; i < T; ++i) {
      if (n > args.last[i]) continue;
      const Lanes weight = all(tile.p[i][n - first]);
#pragma GCC unroll 4
      for (int j = 0; j < W; ++j) acc[i][j] = fma(weight, load_values<part>(row + 16 * j, width - c), acc[i][j]);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < T; ++i) {
    if (first > args.last[i]) continue;  // adding 0 would turn -0 into 0
#pragma GCC unroll 4
    for (int j = 0; j < W; ++j) {
      float* to = tile.values[i] + c + 16 * j;
      store(to, fma(acc[i][j], all(tile.take[i]), load(to) * all(tile.keep[i])));
    }
  }
}

// Goes through the value columns with W vectors at once, then with half as many, down to the short last vector.
template <int T, int W, typename Element>
void add_values(const AttendArgs& args, int64_t first, int64_t end, int64_t c, Tile<T>& tile) {
  for (; c + 16 * W <= args.head_dim_v; c += 16 * W) add_columns<T, W, false, Element>(args, first, end, c, tile);
  if constexpr (W > 1)
    add_values<T, W / 2, Element>(args, first, end, c, tile);
  else if (c < args.head_dim_v)
    add_columns<T, 1, true, Element>(args, first, end, c, tile);
}

template <int T>
void start(const AttendArgs& args, Tile<T>& tile) {
  tile.common = tile.furthest = args.last[0];
  tile.earliest = tile.latest = args.first[0];
  for (int i = 0; i < T; ++i) {
    tile.common = args.last[i] < tile.common ? args.last[i] : tile.common;
    tile.furthest = args.last[i] > tile.furthest ? args.last[i] : tile.furthest;
    tile.earliest = args.first[i] < tile.earliest ? args.first[i] : tile.earliest;
    tile.latest = args.first[i] > tile.latest ? args.first[i] : tile.latest;
    tile.top[i] = -__builtin_inff();
    tile.sum[i] = 0;
    for (int64_t c = 0; c < args.head_dim_v; c += 16) store(tile.values[i] + c, all(0.0f));
  }
}

// The softmax's sum with the exponential of a sink, which no value is weighed by.
LANES_INLINE float sum_with_sink(float sum, float top, const float* sink) {
  if (sink == nullptr) return sum;
  float lanes[16];
  store(lanes, exp(all(*sink - top)));
  return sum + lanes[0];
}

template <int T>
void finish(const AttendArgs& args, const Tile<T>& tile) {
  for (int i = 0; i < T; ++i)
    for (int64_t c = 0; c < args.head_dim_v; c += 16) {
      Lanes y = load(tile.values[i] + c) / all(sum_with_sink(tile.sum[i], tile.top[i], args.sinks[i]));
      if (args.round_f16) y = round_f16(y);
      args.head_dim_v - c >= 16 ? store(args.y[i] + c, y) : store_part(args.y[i] + c, y, args.head_dim_v - c);
    }
}

// Adds one split: scores, weights, values.
template <int T, typename Element>
void add_split(const AttendArgs& args, int64_t first, Tile<T>& tile) {
  const int64_t end = tile.furthest + 1 < first + kSplit ? tile.furthest + 1 : first + kSplit;
  float largest[T];
  score_split<T, Element>(args, first, end, largest, tile);
  weigh(largest, end - first, tile);
  add_values<T, at_once(T), Element>(args, first, end, 0, tile);
}

template <int T>
void store_record(const AttendArgs& args, int64_t split, const Tile<T>& tile) {
  for (int i = 0; i < T; ++i) {
    float* record = args.y[i] + split * (2 + args.head_dim_v);
    record[0] = tile.top[i];
    record[1] = tile.sum[i];
    std::memcpy(record + 2, tile.values[i], static_cast<size_t>(args.head_dim_v) * sizeof(float));
  }
}

// Without keep_splits, all splits are merged in ascending order into y. With it, each split of the share is computed
// alone and written to its record.
template <int T, typename Element>
void attend_tile(const AttendArgs& args, bool keep_splits) {
  Tile<T> tile;
  start(args, tile);
  if (!keep_splits) {
    for (int64_t first = tile.earliest / kSplit * kSplit; first <= tile.furthest; first += kSplit)
      add_split<T, Element>(args, first, tile);
    return finish(args, tile);
  }
  for (int64_t split = args.split_begin; split < args.split_end && split * kSplit <= tile.furthest; ++split) {
    if ((split + 1) * kSplit <= tile.earliest) continue;  // the merge skips this split
    start(args, tile);
    add_split<T, Element>(args, split * kSplit, tile);
    store_record(args, split, tile);
  }
}

// Chooses the instance for the tile's number of queries and the cache's type.
template <int T = 1>
void attend_queries(const AttendArgs& args, bool keep_splits) {
  if (args.queries == T)
    return args.f16 ? attend_tile<T, uint16_t>(args, keep_splits) : attend_tile<T, float>(args, keep_splits);
  if constexpr (T < kAttendTile) attend_queries<T + 1>(args, keep_splits);
}

void attend(const AttendArgs& args) { attend_queries(args, false); }
void attend_splits(const AttendArgs& args) { attend_queries(args, true); }

// Merges the records of one query in the way in which a tile adds its splits: first the values, then the division by
// the sum.
void merge_splits(const MergeArgs& args) {
  const float lowest = -__builtin_inff();
  const int64_t width = args.head_dim_v;
  alignas(64) float values[kMaxHeadDimV];
  for (int64_t c = 0; c < width; c += 16) store(values + c, all(0.0f));
  float top = lowest, sum = 0;
  for (int64_t split = args.begin; split < args.end; ++split) {
    const float* record = args.records + split * (2 + width);
    const float next = record[0] > top ? record[0] : top, base = next == lowest ? 0.0f : next;
    float scales[16] = {top - base, record[0] - base};
    store(scales, exp(load(scales)));
    top = next;
    sum = __builtin_fmaf(record[1], scales[1], sum * scales[0]);
    for (int64_t c = 0; c < width; c += 16) {
      const Lanes found = width - c >= 16 ? load(record + 2 + c) : load_part(record + 2 + c, width - c, 0.0f);
      store(values + c, fma(found, all(scales[1]), load(values + c) * all(scales[0])));
    }
  }
  sum = sum_with_sink(sum, top, args.sink);
  for (int64_t c = 0; c < width; c += 16) {
    Lanes y = load(values + c) / all(sum);
    if (args.round_f16) y = round_f16(y);
    width - c >= 16 ? store(args.y + c, y) : store_part(args.y + c, y, width - c);
  }
}

}  // namespace
}  // namespace tandem::host
