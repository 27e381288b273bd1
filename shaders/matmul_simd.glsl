// The matmul kernels of the simd family, on top of load_group(), load_pair() and GROUP_COLUMNS of a weight format.
// Other shaders include this file; it is never built alone.
//
// Contract: the runs of product_runs.glsl, one after the other. All variants give the same bits. Speed comes from many
//   rows (lanes) and many tokens (registers) at once.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride. Panel p of w (64 rows) starts at p * panel_bytes.
// Work mapping: no shared memory, no barriers. A group of 8 invocations is 64 rows (BLOCKS = 4) or 32 (BLOCKS = 2).
//   Invocation i owns rows 4 i .. 4 i + 3 of the group and, with 64 rows, also rows 32 + 4 i .. 35 + 4 i. So neighbours
//   read neighbouring words; with 8 bits or more a weight they read whole words.
//   The more rows and tokens an invocation owns, the better. lavapipe gathers every load lane by lane in about 30
//   cycles, even if all lanes load the same x. With 4-bit weights 8 x 8 sums are 1.7 times as fast as 4 x 8 (measured).
//   matmul_small_batch (constant TOKENS = 1..8): TOKENS tokens. It decodes the weights once, and the sums stay in registers.
//   TOKENS = 1 is the GEMV.
//   matmul_gemm: tile t of 8 tokens belongs to the groups y of the grid with t % (groups along y) == y.
//   grouped_small_batch, grouped_gemm: the same with a stack of matrices, in tiles of 8 (matmul_args.glsl).
// Limits: rows from row_end on are padding and are never written. On drivers that count loops K <= TANDEM_MAX_K, and a
//   group has one tile (engine/device/gpu/product_kernels.cpp). For the same reason the tokens are written out below
//   instead of looped over.
layout(local_size_x = 8) in;
#ifdef FEW
layout(constant_id = 11) const int TOKENS = 1;
#else
#define TOKENS 8
#endif

#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
// Tokens past the last one of a tile read the last one's row and are not stored.
#ifdef GROUPED
#define LOCATE(t) const uint a##t = X_ROW(token + min(t, tokens - 1));
#define RESULT(t) Y_ROW(token + t) + uint(row)
#else
#define LOCATE(t) const uint a##t = first_x + uint(min(t, tokens - 1) * x_stride);
#define RESULT(t) first_y + uint(t * y_stride)
#endif
#define START(t) precise vec4 sum##t, far##t, total##t = vec4(0.0), far_total##t = vec4(0.0);
#define START_RUN(t)  \
  sum##t = vec4(0.0); \
  far##t = vec4(0.0);
#define END_RUN(t)                                \
  if (t < TOKENS) {                               \
    total##t += sum##t;                           \
    if (BLOCKS == 4) far_total##t += far##t;      \
  }
#define ADD_COLUMN(t)                                     \
  if (t < TOKENS) {                                       \
    const vec4 c = vec4(x[a##t + k]);                     \
    sum##t = fma(first, c, sum##t);                       \
    if (BLOCKS == 4) far##t = fma(far_first, c, far##t);  \
  }
#define ADD_PAIR(t)                                                \
  if (t < TOKENS) {                                                \
    const vec4 c0 = vec4(x[a##t + k]), c1 = vec4(x[a##t + k + 1u]); \
    sum##t = fma(first, c0, sum##t);                               \
    sum##t = fma(second, c1, sum##t);                              \
    if (BLOCKS == 4) far##t = fma(far_first, c0, far##t);          \
    if (BLOCKS == 4) far##t = fma(far_second, c1, far##t);         \
  }
#define STORE(t)                                                                      \
  if (t < TOKENS && t < tokens) {                                                     \
    store_rows(total##t, RESULT(t), row_end - row);                                   \
    if (BLOCKS == 4) store_rows(far_total##t, RESULT(t) + 32u, row_end - row - 32);   \
  }

void store_rows(vec4 value, uint at, int rows) {
  if (rows > 0) y[at] = value.x;
  if (rows > 1) y[at + 1u] = value.y;
  if (rows > 2) y[at + 2u] = value.z;
  if (rows > 3) y[at + 3u] = value.w;
}

// Computes four rows from `row` on, with 64 rows also four from row + 32 on, for `tokens` tokens from `token` on.
void multiply(int row, int token, int tokens) {
#ifndef GROUPED
  const uint first_x = x_offset + uint(token) * uint(x_stride), first_y = y_offset + uint(token) * uint(y_stride) + uint(row);
#endif
  const uint panel = PANELS + uint(row / 64) * (panel_bytes / 4u), lane = uint(row % 64);
  EACH_TOKEN(LOCATE)
  EACH_TOKEN(START)
  vec4 first, second, far_first, far_second;
  const uint tiles = run_tiles_of(uint(K));
  uint k = 0u;
  // trips <= 16   RUNS
  for (uint run = 0u; run < RUNS; ++run) {
    const uint end = min(first_column_of(run + 1u, tiles), uint(K));
    EACH_TOKEN(START_RUN)
    // trips <= TANDEM_MAX_K / 16 / MIN_GROUP + 64 / MIN_GROUP   a sixteenth of K, and up to a tile more
    for (; k + uint(GROUP_COLUMNS) <= end;) {
      const Group g = load_group(panel, int(k) / GROUP_COLUMNS, lane);
      // trips <= MAX_GROUP / 2
      for (int pair = 0; pair < GROUP_COLUMNS / 2; ++pair) {
        load_pair(g, pair, 0, first, second);
        if (BLOCKS == 4) load_pair(g, pair, 1, far_first, far_second);
        EACH_TOKEN(ADD_PAIR)
        k += 2u;
      }
    }
#ifdef ANY_COLUMNS
    const Group g = load_group(panel, int(k) / GROUP_COLUMNS, lane);
    // trips <= MAX_GROUP   only in the last run
    for (; k < end; ++k) {
      first = load_column(g, int(k) % GROUP_COLUMNS, 0);
      if (BLOCKS == 4) far_first = load_column(g, int(k) % GROUP_COLUMNS, 1);
      EACH_TOKEN(ADD_COLUMN)
    }
#endif
    EACH_TOKEN(END_RUN)
  }
  EACH_TOKEN(STORE)
}

int first_row() { return row_begin + int(gl_WorkGroupID.x) * 16 * BLOCKS + 4 * int(gl_LocalInvocationID.x); }

#ifdef GROUPED
void main() {
  find_work(TOKENS);
  if (work_begin < work_end) multiply(first_row(), work_begin, min(TOKENS, work_end - work_begin));
}
#elif defined(KERNEL_matmul_small_batch)
void main() { multiply(first_row(), 0, TOKENS); }
#else
void main() {
  // trips <= 1   lowering makes as many groups as there are tiles where the driver counts loops
  for (int token = 8 * int(gl_WorkGroupID.y); token < S; token += 8 * int(gl_NumWorkGroups.y))
    multiply(first_row(), token, min(8, S - token));
}
#endif
