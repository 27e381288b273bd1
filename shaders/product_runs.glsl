// The runs of a product's columns, which give every sum its order (docs/numbers.md). packed/runs.h has the same rule.
// Other shaders include this file; it is never built alone.
//
// Contract: the columns are cut into tiles of 64, and the T tiles into 16 runs. Run p is tiles [T p / 16, T (p + 1) /
//   16). A run is one ascending chain acc = fma(w, a, acc) from zero. With codes of activations it goes over groups of
//   columns (matmul_act8_simd.comp). The total begins at zero, and the runs are added to it in ascending order.
//   Empty runs add nothing. All matmul shaders follow this exactly, so tokens, tiles of rows, slices and families do
//   not change a bit.
#define RUNS 16u
#define RUN_TILE 64u  // columns

uint run_tiles_of(const uint columns) { return (columns + RUN_TILE - 1u) / RUN_TILE; }

// The first column of a run, where `tiles` are all tiles. The result for run RUNS may lie beyond the last column.
uint first_column_of(const uint run, const uint tiles) { return tiles * run / RUNS * RUN_TILE; }

// The run of a tile.
uint run_of(const uint tile, const uint tiles) { return ((tile + 1u) * RUNS - 1u) / tiles; }
