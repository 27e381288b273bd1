// ALiBi (Press et al. 2021, arXiv:2108.12409): a head's slope times the distance from a query's token to a position is
// subtracted from the score. Both attention kernels include this file after segments.cl; it is never built alone.
//
// A distance is exact as f32, so the bias is one fma. It leaves unseen positions at -INFINITY. It is a pass of its own,
// and only kernels with -DSLOPES=1 have it.
#ifndef SLOPES
#define SLOPES 0
#endif
#if SLOPES
#define SLOPES_OF_TILE  \
  float slopes[TILE];    \
  int own[TILE];  // the position of the query's token
// Loads both for tile t of these queries. They follow the tile's own rule for a last tile that is not full.
#define LOAD_SLOPES(t) \
  load_slopes((t).slopes, (t).own, PTR(const float, slopes), PTR(const int, token_positions), queries, kv_head, group)
INLINE void load_slopes(float *to, int *own, __global const float *slopes, __global const int *token_positions, const Queries queries,
                        const int kv_head, const int group) {
  for (int i = 0; i < TILE; ++i) {
    const int n = min(queries.first + i, queries.queries - 1);
    to[i] = slopes[kv_head * group + n % group];
    own[i] = token_positions[queries.token + n / group];
  }
}
#else
#define SLOPES_OF_TILE
#define LOAD_SLOPES(t)
#endif
