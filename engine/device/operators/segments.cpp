#include "engine/device/operators/segments.h"

#include <algorithm>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

// The tokens of a segment, counted from the operator's first token.
struct TokenRange {
  int64_t begin = 0, end = 0;
};

// begins counts tokens of the batch; the result is cut to the operator's S tokens.
TokenRange tokens_of(const Segments& segments, int64_t S, int64_t segment) {
  if (segments.count == 1) return {0, S};
  const auto* begins = segments.begins.as<const int32_t>();
  const int64_t begin = std::max<int64_t>(begins[segment] - segments.first_token, 0);
  return {begin, std::max(begin, std::min<int64_t>(begins[segment + 1] - segments.first_token, S))};
}

}  // namespace

// Walks through the segments and counts down their tiles until tile n is reached.
QueryTile query_tile(const Segments& segments, int64_t S, int64_t group, int64_t tile, int64_t n) {
  for (int64_t segment = 0; segment < segments.count; ++segment) {
    const TokenRange tokens = tokens_of(segments, S, segment);
    const int64_t queries = (tokens.end - tokens.begin) * group, tiles = (queries + tile - 1) / tile;
    if (n < tiles) return {segment, tokens.begin, tokens.end - 1, n * tile, std::min((n + 1) * tile, queries)};
    n -= tiles;
  }
  return {};
}

// Each segment's last tile may have a single query, and so leave tile - 1 places empty.
int64_t most_tiles(const Segments& segments, int64_t S, int64_t group, int64_t tile) {
  const int64_t parts = std::min(segments.count, S);
  return (S * group + parts * (tile - 1)) / tile;
}

int64_t mean_queries(const Segments& segments, int64_t S, int64_t group) {
  const int64_t parts = std::clamp<int64_t>(S, 1, segments.count);
  return (S + parts - 1) / parts * group;
}

int64_t segment_of(const Segments& segments, int64_t s) {
  if (segments.count == 1) return 0;
  const auto* begins = segments.begins.as<const int32_t>();
  int64_t segment = 0;
  while (segment + 1 < segments.count && begins[segment + 1] <= segments.first_token + s) ++segment;
  return segment;
}

int64_t tree_begin(const Segments& segments, int64_t segment) {
  return segments.depth == 0 ? kNoTree : segments.paths.as<const int32_t>()[segment * (1 + segments.depth)];
}

// Below the tree, places equal positions. From its first position on, the segment's path lists them.
int64_t place_of(const Segments& segments, int64_t segment, int64_t position) {
  const int64_t base = tree_begin(segments, segment);
  if (position < base) return position;
  return segments.paths.as<const int32_t>()[segment * (1 + segments.depth) + 1 + position - base];
}

// Three steps: from the position to its place in the sequence, to the page in the segment's row of the table, to
// the cell.
int64_t cell_of(const Segments& segments, const KvCache& cache, int64_t segment, int64_t position) {
  const int64_t place = place_of(segments, segment, position);
  if (place < 0 || place >= cache.capacity)
    throw Error("a position lies at a place beyond the cache", "position " + std::to_string(position) + ": place " +
                                                                   std::to_string(place) + " of " +
                                                                   std::to_string(cache.capacity));
  const int64_t page = segments.pages.as<const int32_t>()[segment * pages_of(cache.capacity) + place / kCachePage];
  if (page < 0 || page >= cache.pages)
    throw Error("a position lies in a page that the cache does not have", "position " + std::to_string(position) +
                                                                              ": page " + std::to_string(page) +
                                                                              " of " + std::to_string(cache.pages));
  return page * kCachePage + place % kCachePage;
}

}  // namespace tandem
