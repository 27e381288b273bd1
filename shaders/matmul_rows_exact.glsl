// The kernels matmul_small_batch_rows and grouped_small_batch_rows, on top of load_piece() and decode() of a weight
// format. Other shaders include this file after matmul_rows.glsl; it is never built alone.
//
// Contract: the runs of product_runs.glsl, as in matmul_simt.glsl; the bits are the same. An invocation loads four
//   pieces before it multiplies with the first of them.
// Constants: ALIGNED_X: rows of x begin at multiples of 16 bytes.
// Limits: dense K is a multiple of 8. Rows from row_end on are padding and are never written.
layout(constant_id = 14) const int ALIGNED_X = 0;
layout(set = 0, binding = 1, std430) readonly buffer vectors_block { vec4 vectors[]; };

// Eight values of a token, from word `at` on, or four if pieces have no more columns.
void load_eight(uint at, out vec4 first, out vec4 second) {
  second = vec4(0.0);
  if (ALIGNED_X != 0) {
    first = vectors[at / 4u];
    if (PIECE_COLUMNS > 4u) second = vectors[at / 4u + 1u];
  } else {
    first = vec4(x[at], x[at + 1u], x[at + 2u], x[at + 3u]);
    if (PIECE_COLUMNS > 4u) second = vec4(x[at + 4u], x[at + 5u], x[at + 6u], x[at + 7u]);
  }
}

#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(t) precise float sum##t = 0.0;
#ifdef GROUPED
#define FIRST_X(t) X_ROW(work_begin + int(t))
#define FIRST_Y(t) Y_ROW(work_begin + int(t))
#else
#define FIRST_X(t) x_offset + (t) * uint(x_stride)
#define FIRST_Y(t) y_offset + (t) * uint(y_stride)
#endif
#define LOCATE(t) const uint a##t = FIRST_X(uint(t));
#define ADD_COLUMNS(t)                            \
  if (t < TOKENS) {                               \
    vec4 first, second;                           \
    load_eight(a##t + k + 8u * e, first, second); \
    sum##t = fma(weights[0], first.x, sum##t);    \
    sum##t = fma(weights[1], first.y, sum##t);    \
    sum##t = fma(weights[2], first.z, sum##t);    \
    sum##t = fma(weights[3], first.w, sum##t);    \
    if (PIECE_COLUMNS > 4u) {                     \
      sum##t = fma(weights[4], second.x, sum##t); \
      sum##t = fma(weights[5], second.y, sum##t); \
      sum##t = fma(weights[6], second.z, sum##t); \
      sum##t = fma(weights[7], second.w, sum##t); \
    }                                             \
  }

void main() {
  const uint r = gl_LocalInvocationID.x, run = gl_LocalInvocationID.y;
  const uint row = row_of_group(r), panel_row = row % 64u;
#ifdef GROUPED
  find_work(TOKENS);
#endif
  const uint panel = PANELS + row / 64u * (panel_bytes / 4u);
  const uint tiles = run_tiles_of(uint(K)), end = min(first_column_of(run + 1u, tiles), uint(K));
  EACH_TOKEN(LOCATE)
  EACH_TOKEN(START)
  Piece ahead[4];
  uint k = first_column_of(run, tiles);
  [[unroll]] for (uint d = 0u; d < 4u; ++d) {
    if (k + d * PIECE_COLUMNS < end) load_piece(panel, panel_row, k + d * PIECE_COLUMNS, ahead[d]);
  }
  // trips <= TANDEM_MAX_K / 64 + 16   a sixteenth of K and up to a tile more, at least four columns at a time
  for (; k < end; k += PIECE_COLUMNS) {
    const Piece now = ahead[0];
    [[unroll]] for (uint d = 1u; d < 4u; ++d) ahead[d - 1u] = ahead[d];
    if (k + 4u * PIECE_COLUMNS < end) load_piece(panel, panel_row, k + 4u * PIECE_COLUMNS, ahead[3]);
    // trips <= 4   eight columns of up to 32
    [[unroll]] for (uint e = 0u; e < UNITS; ++e) {
      float weights[UNIT];
      decode(now, e, weights);
      EACH_TOKEN(ADD_COLUMNS)
    }
  }
  EACH_TOKEN(KEEP)
  barrier();
  store_totals(r, run, FIRST_Y(run));
}
