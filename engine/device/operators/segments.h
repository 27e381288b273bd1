// Which tokens of a batch belong to one sequence, and in which pages that sequence's keys and values lie.
//
// A segment is a run of the batch's tokens that belong to one sequence, at ascending positions. A sequence may have
// several segments in a batch, the later ones at later positions: each has a row of the table of pages, with the same
// pages in it. A token sees its own sequence alone, so no value depends on who shares its batch.
#pragma once

#include "engine/device/operators/kv_cache.h"

namespace tandem {

struct Segments {
  int64_t count = 1;        // at most so many in a batch. 1: all tokens are of segment 0, and begins is not read
  int64_t first_token = 0;  // of the batch: token 0 of the operator, which may be a slice. Not used where count is 1
  Operand begins;           // int32 [count + 1], ascending: segment i has the tokens begins[i] .. begins[i + 1] - 1
  Operand pages;            // int32 [count, pages_of(capacity)]: page i of a row has positions from i * kCachePage on

  bool operator==(const Segments&) const = default;
};

// What an operator reads of them.
template <typename Place>
View<Place> begins_of(Place& place, const Segments& segments) {
  return ids_of_all(place, segments.count + 1).only_if(segments.count > 1);
}
template <typename Place>
View<Place> table_of(Place& place, const Segments& segments, const KvCache& cache) {
  return ids_of_all(place, segments.count * pages_of(cache.capacity));
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

// The segment of the operator's token s, of S.
int64_t segment_of(const Segments& segments, int64_t s);
// Where the segment's keys and values of a position lie; the table is read. Error: a page that the cache does not have.
int64_t cell_of(const Segments& segments, const KvCache& cache, int64_t segment, int64_t position);

}  // namespace tandem
