// The matmul kernels of the simt family, on top of load_columns() of a weight format. Other shaders include this file;
// it is never built alone.
//
// Contract: the runs of product_runs.glsl. Invocations compute several runs of an element side by side.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride. Panel p of w (64 rows) starts at p * panel_bytes.
// Work mapping:
//   matmul_small_batch (constant TOKENS = S): a group of 64 x AT_ONCE per panel (runs_at_once.glsl). TOKENS = 1 is the
//   GEMV. matmul_small_batch_wide computes all runs at once, on devices with groups of 1,024, because a few panels
//   alone do not fill a large GPU.
//   matmul_gemm: a group of 128 per 64 rows (dimension 0) and 64 tokens (dimension 1). It decodes a tile of 64 rows x
//   32 columns and one of 64 tokens x 32 columns to shared memory. Invocation (tx, ty) of 8 x 16 sums rows 4 tx .. 4 tx
//   + 3, and the rows 32 behind them, of tokens 4 ty .. 4 ty + 3. So it loads three vectors for 32 multiply-adds.
//   grouped_small_batch, grouped_small_batch_wide, grouped_gemm: the same with a stack of matrices, in tiles of 64 (matmul_args.glsl).
// Limits: groups of 256 (wide: 1,024). Shared memory: small batch as in runs_at_once.glsl, gemm 16 KiB. Rows from
//   row_end on are padding and are never written. On drivers that count loops K <= TANDEM_MAX_K. For the same reason
//   tokens and rows are written out instead of looped over.

#ifdef FEW
#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(t) precise float sum##t = 0.0;
#ifdef GROUPED
#define LOCATE(t) const uint a##t = X_ROW(work_begin + t);
#define ADD_COLUMN(t) \
  if (t < TOKENS) sum##t = fma(weights[j], x[a##t + k + j], sum##t);
#define RESULT(t) Y_ROW(work_begin + int(t)) + row
#else
#define LOCATE(t)
#define ADD_COLUMN(t) \
  if (t < TOKENS) sum##t = fma(weights[j], x[x_offset + uint(t * x_stride) + k + j], sum##t);
#define RESULT(t) y_offset + t * uint(y_stride) + row
#endif

void main() {
  const uint r = gl_LocalInvocationID.x, lane = gl_LocalInvocationID.y;
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u, row = first_row + r;
#ifdef GROUPED
  find_work(TOKENS);
#endif
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint tiles = run_tiles_of(uint(K));
  EACH_TOKEN(LOCATE)
  // trips <= 4   RUNS / AT_ONCE
  for (uint first = 0u; first < RUNS; first += uint(AT_ONCE)) {
    const uint run = first + lane, end = min(first_column_of(run + 1u, tiles), uint(K));
    EACH_TOKEN(START)
    // trips <= TANDEM_MAX_K / 128 + 8   a sixteenth of K, eight columns at a time, and up to a tile more
    for (uint k = first_column_of(run, tiles); k < end; k += 8u) {
      float weights[8];
      load_columns(panel, r, k, uint(K), weights);
      for (uint j = 0u; j < 8u; ++j) {
        if (k + j >= uint(K)) break;
        EACH_TOKEN(ADD_COLUMN)
      }
    }
    EACH_TOKEN(KEEP)
    add_runs(first);
  }
  // trips <= 2   TOKENS / AT_ONCE
  for (uint t = lane; t < uint(TOKENS); t += uint(AT_ONCE)) {
    if (row < uint(row_end)) y[RESULT(t)] = totals[t * 64u + r];
  }
}

#else
// A column has 16 vectors of four rows, and 16 of four tokens. Vector i of tokens lies at i ^ column % 8, so that the
// invocations that move eight columns write to different banks.
shared vec4 weights[32 * 16], tokens[32 * 16];
#define START(t) precise vec4 low_total##t = vec4(0.0), high_total##t = vec4(0.0), low##t = vec4(0.0), high##t = vec4(0.0);
#define END_RUN(t)        \
  low_total##t += low##t;   \
  high_total##t += high##t; \
  low##t = vec4(0.0);       \
  high##t = vec4(0.0);
#define ADD_COLUMN(t)                      \
  low##t = fma(b, vec4(a[t]), low##t);     \
  high##t = fma(c, vec4(a[t]), high##t);
#define STORE(t)                                                                          \
  if (first_token + ty * 4u + uint(t) < END) {                                            \
    store_rows(low_total##t, first_token + ty * 4u + uint(t), first_row + tx * 4u);       \
    store_rows(high_total##t, first_token + ty * 4u + uint(t), first_row + 32u + tx * 4u); \
  }
#define MULTIPLY(column)                                                              \
  {                                                                                   \
    const uint at = (column) * 16u;                                                   \
    const vec4 b = weights[at + tx], c = weights[at + 8u + tx], a = tokens[at + (ty ^ ((column) & 7u))]; \
    EACH_TOKEN(ADD_COLUMN)                                                            \
  }
#define MOVE_WEIGHT(j) weights[(moved_columns + 8u * h + (j)) * 16u + moved_row / 4u][moved_row % 4u] = columns[h][j];
#define MOVE_TOKEN(i) \
  tokens[moved_column * 16u + ((i) ^ moved_column % 8u)][moved_token] = values[(i) / 4u][(i) % 4u];

float value_of(uint token, uint k) { return token < END && k < uint(K) ? x[OPERAND(token) + k] : 0.0; }

void main() {
  const uint id = gl_LocalInvocationID.x, tx = id % 8u, ty = id / 8u;
  const uint moved_row = id % 64u, moved_columns = id / 64u * 16u;                // 16 weights of a row
  const uint moved_column = id % 8u + id / 32u * 8u, moved_token = id / 8u % 4u;  // a column of every fourth token
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u;
  const uint first_token = find_tokens(id);
  if (first_token >= END) return;  // the whole group returns
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint tiles = run_tiles_of(uint(K)), parts = (uint(K) + 31u) / 32u;
  EACH_TOKEN(START)
  float columns[2][8];
  vec4 values[4];
  uint run = 0u;
  // Weights and tokens are asked for while the part before them is multiplied.
  // trips <= TANDEM_MAX_K / 32 + 1   half a tile of a run, and one more for the last one's products
  for (uint part = 0u; part <= parts; ++part) {
    const uint begin = part * 32u;
    if (part < parts) {
      load_columns(panel, moved_row, begin + moved_columns, uint(K), columns[0]);
      load_columns(panel, moved_row, begin + moved_columns + 8u, uint(K), columns[1]);
      for (uint i = 0u; i < 4u; ++i) {
        const uint token = first_token + i * 16u + moved_token, k = begin + moved_column;
        values[i] = vec4(value_of(token, k), value_of(token + 4u, k), value_of(token + 8u, k), value_of(token + 12u, k));
      }
    }
    if (part > 0u) {
      const uint current = run_of((part - 1u) / 2u, tiles);
      if (current != run) {
        EACH_TOKEN(END_RUN)
      }
      run = current;
      for (uint k = 0u; k < 32u; k += 4u) {
        MULTIPLY(k) MULTIPLY(k + 1u) MULTIPLY(k + 2u) MULTIPLY(k + 3u)
      }
    }
    barrier();
    if (part < parts) {
      for (uint h = 0u; h < 2u; ++h) {
        MOVE_WEIGHT(0) MOVE_WEIGHT(1) MOVE_WEIGHT(2) MOVE_WEIGHT(3) MOVE_WEIGHT(4) MOVE_WEIGHT(5) MOVE_WEIGHT(6) MOVE_WEIGHT(7)
      }
      for (uint i = 0u; i < 16u; i += 4u) {
        MOVE_TOKEN(i) MOVE_TOKEN(i + 1u) MOVE_TOKEN(i + 2u) MOVE_TOKEN(i + 3u)
      }
    }
    barrier();
  }
  EACH_TOKEN(END_RUN)
  EACH_TOKEN(STORE)
}
#endif
