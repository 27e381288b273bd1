// Which tokens of a batch belong to one sequence (engine/device/operators/segments.h), as kernels/attention and kernels/kv_append see it; shaders/attention.glsl and shaders/kv_append.glsl say it too.
// Not a source of its own; included.
//
// begins int32 [count + 1]: segment i has the batch's tokens begins[i] .. begins[i + 1] - 1, and row i of the table of pages. With one segment all S
// tokens are its own, and begins is not read. Token 0 of the launch is the batch's first_token.
// paths int32 [count, 1 + depth], read with -DTREES=1 alone: a row is a position and the places of the positions from there on; below it places
// are positions.
#ifndef TREES  // whether the batch has trees of drafts
#define TREES 0
#endif

// A tile of queries of one segment. They are numbered token * group + head in the group, from the segment's first token in the launch on.
typedef struct {
  int segment;  // -1: there are fewer tiles
  int token;    // the segment's first token in the launch
  int queries;  // of all its tokens in the launch
  int first;    // query of the tile
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

// The place of a position of the segment that has this row of paths.
INLINE int place_of(const int position, __global const int *path) {
#if TREES
  return position < path[0] ? position : path[1 + position - path[0]];
#else
  return position;
#endif
}
