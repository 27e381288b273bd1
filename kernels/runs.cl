// The runs of a product's columns, as in packed/runs.h. The matmul kernels of both families include this file; it is
// never built alone.
//
// Contract (docs/numbers.md): K columns are cut into tiles of RUN_TILE columns, and T tiles into RUNS runs. Run p has
//   the tiles [T p / RUNS, T (p + 1) / RUNS). A run is one ascending chain from 0. The total begins at 0, and the runs
//   are added to it in ascending order. Runs without tiles add nothing and may be left out.
// Limits: K > 0.
#define RUNS 16
#define RUN_TILE 64

INLINE int run_tiles(const int K) { return (K + RUN_TILE - 1) / RUN_TILE; }
// The first column of a run, and the column behind its last one.
INLINE int run_begin(const int K, const int run) { return run_tiles(K) * run / RUNS * RUN_TILE; }
INLINE int run_end(const int K, const int run) { return min(K, run_begin(K, run + 1)); }
// The run that a column lies in.
INLINE int run_of(const int K, const int column) { return ((column / RUN_TILE + 1) * RUNS - 1) / run_tiles(K); }
