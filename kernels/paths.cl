// Finds the keys and values of a position in a batch with trees of drafts (engine/device/operators/segments.h); only
// kernels with -DTREES=1 need it.
// Other kernels find those of a split in one page, at its positions. Kernels include this file after segments.cl, with
// HEAD_DIM, HEAD_DIM_V, SPLIT and ELEMENT defined; it is never built alone.
//
// A tile follows the path of its segment. Only tiles of one token's queries have a path that is not straight. KEY_AT(n)
// is element 0 of position n's key, and VALUES_AT(n) is its row of values. Both hold for tile t in a split that begins
// at `first`, with keys at k and values at v.
#if TREES
typedef struct {
  __global const int *at;     // a row of paths
  __global const int *pages;  // the segment's pages
  __global const ELEMENT *keys, *values;  // page 0 of the KV head
} Path;

INLINE size_t cell_on(const Path *path, const int position) {
  const int place = place_of(position, path->at);
  return (size_t)path->pages[place / SPLIT] * SPLIT + place % SPLIT;
}

INLINE __global const ELEMENT *key_on(const Path *path, const int position) {
  const size_t cell = cell_on(path, position);
  return path->keys + cell / 16 * HEAD_DIM * 16 + cell % 16;
}

INLINE __global const ELEMENT *values_on(const Path *path, const int position) {
  return path->values + cell_on(path, position) * HEAD_DIM_V;
}

#define HAS_TREE_BEFORE(end) (t->path.at[0] < (end))
#define KEY_AT(n) key_on(&t->path, n)
#define VALUES_AT(n) ((n) < t->path.at[0] ? v + (size_t)((n) - first) * HEAD_DIM_V : values_on(&t->path, n))
#define FOLLOW_PATH(t)                                                                             \
  (t).path.at = PTR(const int, paths) + (size_t)queries.segment * (1 + depth);                      \
  (t).path.pages = PTR(const int, pages) + (size_t)queries.segment * pages_each;                    \
  (t).path.keys = PTR(const ELEMENT, cache_k) + (size_t)kv_head * page_count * SPLIT * HEAD_DIM;    \
  (t).path.values = PTR(const ELEMENT, cache_v) + (size_t)kv_head * page_count * SPLIT * HEAD_DIM_V
#else
#define KEY_AT(n) (k + (size_t)(((n) - first) / 16) * HEAD_DIM * 16 + (n) % 16)
#define VALUES_AT(n) (v + (size_t)((n) - first) * HEAD_DIM_V)
#define FOLLOW_PATH(t)
#endif
