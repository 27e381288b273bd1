// The matmul kernels of the simt family, on top of load_columns() of a weight format. Other shaders include this file;
// it is never built alone.
//
// Contract: the runs of product_runs.glsl. Invocations compute several runs of an element side by side.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride. Panel p of w (64 rows) starts at p * panel_bytes.
// Work mapping:
//   matmul_small_batch (constant TOKENS = S): a group of 64 x AT_ONCE per panel (runs_at_once.glsl). TOKENS = 1 is the
//   GEMV. matmul_small_batch_wide computes all runs at once, on devices with groups of 1,024, because a few panels
//   alone do not fill a large GPU.
//   matmul_gemm: a group of 256 per 64 rows (dimension 0) and 64 tokens (dimension 1). It decodes a tile of 64 rows x
//   32 columns and one of 64 tokens x 32 columns to shared memory. Invocation (tx, ty) of 16 x 16 sums rows tx, tx+16,
//   tx+32, tx+48 of tokens 4 ty .. 4 ty + 3.
//   grouped_small_batch, grouped_small_batch_wide, grouped_gemm: the same with a stack of matrices, in tiles of 64 (matmul_args.glsl).
// Limits: groups of 256 (wide: 1,024). Shared memory: small batch as in runs_at_once.glsl, gemm 17 KiB. Rows from
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
#define PITCH 33u  // columns of a token in shared memory: one more than 32, so that 16 tokens lie in different banks
shared float weights[32 * 64], tokens[64 * 33];
#define START(t) precise vec4 total##t = vec4(0.0), sum##t = vec4(0.0);
#define END_RUN(t)    \
  total##t += sum##t; \
  sum##t = vec4(0.0);
#define ADD_COLUMN(t) sum##t = fma(b, vec4(tokens[(ty * 4u + uint(t)) * PITCH + k]), sum##t);
#define STORE(t)                                          \
  total##t += sum##t;                                     \
  if (first_token + ty * 4u + uint(t) < END) store_rows(total##t, first_token + ty * 4u + uint(t), first_row + tx);

void main() {
  const uint id = gl_LocalInvocationID.x, tx = id % 16u, ty = id / 16u;
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u;
  const uint first_token = find_tokens(id);
  if (first_token >= END) return;  // the whole group returns
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint tiles = run_tiles_of(uint(K));
  EACH_TOKEN(START)
  uint run = 0u;
  // trips <= TANDEM_MAX_K / 32   half a tile of a run
  for (uint half_tile = 0u; half_tile * 32u < uint(K); ++half_tile) {
    const uint current = run_of(half_tile / 2u, tiles);
    if (current != run) {
      EACH_TOKEN(END_RUN)
    }
    run = current;
    float columns[8];
    load_columns(panel, id % 64u, half_tile * 32u + id / 64u * 8u, uint(K), columns);
    for (uint j = 0u; j < 8u; ++j) weights[(id / 64u * 8u + j) * 64u + id % 64u] = columns[j];
    for (uint i = 0u; i < 8u; ++i) {
      const uint at = id + i * 256u, token = first_token + at / 32u, k = half_tile * 32u + at % 32u;
      float value = 0.0;
      if (token < END && k < uint(K)) value = x[OPERAND(token) + k];
      tokens[at / 32u * PITCH + at % 32u] = value;
    }
    barrier();
    for (uint k = 0u; k < 32u; ++k) {
      const uint at = k * 64u + tx;
      const vec4 b = vec4(weights[at], weights[at + 16u], weights[at + 32u], weights[at + 48u]);
      EACH_TOKEN(ADD_COLUMN)
    }
    barrier();
  }
  EACH_TOKEN(STORE)
}
#endif
