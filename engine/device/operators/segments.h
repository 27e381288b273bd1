// Which tokens of a batch belong to one sequence, and in which pages that sequence's keys and values lie.
//
// A segment is a run of the batch's tokens that belong to one sequence, at ascending positions. A sequence may have
// several segments in a batch, the later ones at later positions: each has a row of the table of pages, with the same
// pages in it. A token sees its own sequence alone, so no value depends on who shares its batch.
//
// A tree of drafts goes on from the end of a text in several ways at once. Each of its tokens is a segment of one
// token: its position is its depth behind the text, and several tokens have the same one. So a token lies at a place
// of its own, and a row of paths says at which places the tokens lie that it goes on from, its ancestors. They are what
// it sees of the tree, in the order of their positions, so that it has the bits that it has behind them in a text.
#pragma once

#include <limits>

#include "engine/device/operators/kv_cache.h"

namespace tandem {

struct Segments {
  int64_t count = 1;        // at most so many in a batch. 1: all tokens are of segment 0, and begins is not read
  int64_t first_token = 0;  // of the batch: token 0 of the operator, which may be a slice. Not used where count is 1
  Operand begins;           // int32 [count + 1], ascending: segment i has the tokens begins[i] .. begins[i + 1] - 1
  Operand pages;            // int32 [count, pages_of(capacity)]: page i of a row has places from i * kCachePage on
  int64_t depth = 0;        // positions that a tree may go on for. 0: there is no tree, and paths is not read
  // int32 [count, 1 + depth]: a row is a position, `base`, and the places of the positions from base on, up to the
  // segment's own. Below base places are positions; kNoTree: all of them are.
  Operand paths = {};

  bool operator==(const Segments&) const = default;
};

inline constexpr int32_t kNoTree = std::numeric_limits<int32_t>::max();

// What an operator reads of them.
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

// Queries of a KV head that are computed together: those of one segment's tokens. They are numbered token * group +
// head in the group, from the segment's first token in the operator on.
struct QueryTile {
  int64_t segment = 0;
  int64_t first_token = 0, last_token = 0;  // of the operator: the segment's first and last one
  int64_t begin = 0, end = 0;               // queries; none: there are fewer tiles
};

// Tile n of the queries of S tokens, `group` each token, in tiles of at most `tile`; the begins are read.
QueryTile query_tile(const Segments& segments, int64_t S, int64_t group, int64_t tile, int64_t n);
// No batch of S tokens has more tiles, however its tokens are shared out among segments.
int64_t most_tiles(const Segments& segments, int64_t S, int64_t group, int64_t tile);
// Queries of a segment, if S tokens are shared out evenly; rounded up to whole tokens.
int64_t mean_queries(const Segments& segments, int64_t S, int64_t group);

// The segment of the operator's token s, of S.
int64_t segment_of(const Segments& segments, int64_t s);
// The position from which on the segment's places are those of its path, kNoTree where it has none; the paths are read.
int64_t tree_begin(const Segments& segments, int64_t segment);
// At which place of its sequence the segment has a position.
int64_t place_of(const Segments& segments, int64_t segment, int64_t position);
// Where the segment's keys and values of a position lie; table and paths are read. Error: a place beyond the capacity,
// or in a page that the cache does not have.
int64_t cell_of(const Segments& segments, const KvCache& cache, int64_t segment, int64_t position);

}  // namespace tandem
