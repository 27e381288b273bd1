// Chunks of columns that the simd kernels for many tokens decode together, and the parts of runs in them. Kernels
// include this file after runs.cl; it is never built alone.
//
// Idea: a group of tokens passes over a decoded chunk with the sums of one run in registers. y holds the total of the
//   runs that have ended.
// Contract: a chunk is as many whole runs as fit into CHUNK columns, or a part of one longer run. The sums of a run that
//   goes on in the next chunk wait in an array with room for TOGETHER + LEAST tokens. Only runs longer than a chunk are
//   cut, and then at most that many tokens pass together. The weights are decoded once for them.
#define CHUNK 256
#define PARTS (CHUNK / RUN_TILE)  // the most parts of a chunk

typedef struct {
  int begin, columns;  // the chunk's first column and its number of columns
  int count;           // parts of runs
  int end[PARTS];      // the end of each part, counted from the chunk's first column on
  bool is_first;       // no run has ended in front of the first part, so y holds nothing yet
  bool continues;      // the first part continues the run of the last chunk
  bool is_cut;         // the last part's run goes on in the next chunk
} Parts;

// The chunk that begins at column k of K. A long run is cut into parts of nearly the same length.
INLINE Parts parts_from(const int K, const int k) {
  Parts parts;
  int run = run_of(K, k), end = run_end(K, run);
  parts.begin = k;
  parts.count = 1;
  parts.is_first = run_begin(K, run) == 0;
  parts.continues = k > run_begin(K, run);
  parts.is_cut = end - k > CHUNK;
  if (parts.is_cut) {
    const int chunks = (end - k + CHUNK - 1) / CHUNK, tiles = (end - k + RUN_TILE - 1) / RUN_TILE;
    end = k + (tiles + chunks - 1) / chunks * RUN_TILE;
  }
  parts.end[0] = end - k;
  while (!parts.is_cut && end < K) {
    const int next = run_of(K, end), next_end = run_end(K, next);
    if (next_end - k > CHUNK) break;
    end = next_end;
    parts.end[parts.count++] = end - k;
  }
  parts.columns = end - k;
  return parts;
}

// How many of the tokens from `first` to `end` pass together; the last ones are at least LEAST.
INLINE int tokens_together(const int K, const int first, const int end) {
  const bool is_cut = (run_tiles(K) + RUNS - 1) / RUNS * RUN_TILE > CHUNK;
  return is_cut && end - first > TOGETHER + LEAST ? TOGETHER : end - first;
}
