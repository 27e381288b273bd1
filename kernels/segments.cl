// Says which tokens of a batch belong to one sequence (engine/device/operators/segments.h). The kernels of attention
// and kv_append include this file; shaders/attention.glsl and shaders/kv_store.glsl have the same rules.
//
// Layout: begins int32 [count + 1]. Segment i has the batch's tokens begins[i] .. begins[i + 1] - 1, and row i of the
//   table of pages.
//   If there is one segment, it has all S tokens, and begins is not read. Token 0 of the launch is the batch's
//   first_token.
//   paths int32 [count, 1 + depth], read only with -DTREES=1: a row is a position, then the places of the positions
//   from there on. Before that position, places are positions.
#ifndef TREES  // whether the batch has trees of drafts
#define TREES 0
#endif

// A tile of queries of one segment. A query's number is token * group + head in the group; tokens count from the
// segment's first token in the launch.
typedef struct {
  int segment;  // -1: no such tile
  int token;    // the segment's first token in the launch
  int queries;  // the number of queries of all the segment's tokens in the launch
  int first;    // the tile's first query
} Queries;

INLINE Queries queries_of(const int tile, const int size, __global const int *begins, const int count, const int first_token, const int S,
                          const int group) {
  if (count == 1) return (Queries){0, 0, S * group, tile * size};
  int before = 0;
  for (int i = 0; i < count; ++i) {
    const int token = max(begins[i] - first_token, 0), tokens = max(min(begins[i + 1] - first_token, S) - token, 0);
    const int tiles = (tokens * group + size - 1) / size;
    if (tile < before + tiles) return (Queries){i, token, tokens * group, (tile - before) * size};
    before += tiles;
  }
  return (Queries){-1, 0, 0, 0};
}

// The segment of the launch's token s.
INLINE int segment_of(const int s, __global const int *begins, const int count, const int first_token) {
  int segment = 0;
  if (count == 1) return segment;
  while (segment + 1 < count && begins[segment + 1] <= first_token + s) ++segment;
  return segment;
}

// The place of a position, for a segment with this row of paths.
INLINE int place_of(const int position, __global const int *path) {
#if TREES
  return position < path[0] ? position : path[1 + position - path[0]];
#else
  return position;
#endif
}
