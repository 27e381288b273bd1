// Segments: which tokens of a batch belong to one sequence, and which pages hold that sequence's keys and values.
//
// A segment is a run of the batch's tokens that belong to one sequence, at ascending positions. A sequence may have
// several segments in a batch, the later ones at later positions. Each segment has its own row in the table of pages;
// rows of one sequence hold the same pages. A token sees its own sequence only, so no value depends on the other
// sequences of the batch.
//
// A tree of drafts continues a text in several ways at once. Each of its tokens is a segment of one token. Its position
// is its depth behind the text, so several tokens have the same position. Therefore a token lies at a place of its own,
// and a row of paths lists the places of its ancestors in the tree. The token sees only these ancestors of the tree, in
// the order of their positions. So it gets the same bits as behind these tokens in a text.
#pragma once

#include <limits>

#include "engine/device/operators/kv_cache.h"

namespace tandem {

struct Segments {
  int64_t count = 1;  // the most segments of a batch. 1: all tokens belong to segment 0, and begins is not read
  // The batch's number of the operator's token 0, since the operator may be a slice. Not used when count is 1.
  int64_t first_token = 0;
  Operand begins;     // int32 [count + 1], ascending: segment i has the tokens begins[i] .. begins[i + 1] - 1
  Operand pages;      // int32 [count, pages_of(capacity)]: page i of a row has the places from i * kCachePage on
  int64_t depth = 0;  // the most positions of a tree. 0: there is no tree, and paths is not read
  // int32 [count, 1 + depth]. A row holds a position `base` and the places of the positions from base on, up to the
  // segment's own position. Below base, places equal positions; kNoTree: all places equal positions.
  Operand paths = {};

  bool operator==(const Segments&) const = default;
};

inline constexpr int32_t kNoTree = std::numeric_limits<int32_t>::max();

// The views through which an operator reads these tables.
template <typename Place>
View<Place> begins_of(Place& place, const Segments& segments) {
  return ids_of_all(place, segments.count + 1).only_if(segments.count > 1);
}
template <typename Place>
View<Place> table_of(Place& place, const Segments& segments, const KvCache& cache) {
  return ids_of_all(place, segments.count * pages_of(cache.capacity));
}

template <typename Place>
View<Place> paths_of(Place& place, const Segments& segments) {
  return ids_of_all(place, segments.count * (1 + segments.depth)).only_if(segments.depth > 0);
}

// Queries of a KV head that are computed together; all belong to tokens of one segment. A query's number is token *
// group + head in the group, counted from the segment's first token in the operator.
struct QueryTile {
  int64_t segment = 0;
  int64_t first_token = 0, last_token = 0;  // first and last token of the segment in the operator
  int64_t begin = 0, end = 0;               // numbers of the queries; empty: there are fewer tiles
};

// Tile n of the queries of S tokens, with `group` queries for each token and at most `tile` in a tile. Reads begins.
QueryTile query_tile(const Segments& segments, int64_t S, int64_t group, int64_t tile, int64_t n);
// The most tiles of any batch of S tokens, whatever number of tokens each segment has.
int64_t most_tiles(const Segments& segments, int64_t S, int64_t group, int64_t tile);
// Queries of a segment if the S tokens are shared evenly among the segments; rounded up to whole tokens.
int64_t mean_queries(const Segments& segments, int64_t S, int64_t group);

// The segment of the operator's token s.
int64_t segment_of(const Segments& segments, int64_t s);
// The position from which on the segment's path gives the places; kNoTree: the segment has no path. Reads paths.
int64_t tree_begin(const Segments& segments, int64_t segment);
// The place that a position of the segment has in its sequence.
int64_t place_of(const Segments& segments, int64_t segment, int64_t position);
// The cell of the segment's keys and values at a position. Reads the table and paths. Error when the place lies beyond
// the capacity, or in a page that the cache does not have.
int64_t cell_of(const Segments& segments, const KvCache& cache, int64_t segment, int64_t position);

}  // namespace tandem
