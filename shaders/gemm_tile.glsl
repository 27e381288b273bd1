// The tile of a work-group of matmul_gemm and grouped_gemm in the simt family: 64 rows of a panel and 64 tokens. Other
// shaders include this file after matmul_args.glsl; it is never built alone. It is empty in the kernels of few tokens.
//
// Work mapping: with codes of activations a group of 256. Invocation (tx, ty) of 16 x 16 has rows tx, tx+16, tx+32, tx+48
//   of tokens 4 ty .. 4 ty + 3. With f32 activations it is a group of 128 (matmul_simt.glsl).
#ifndef FEW
#if defined(UNITS)  // matmul_units.glsl has its own cut
#elif defined(X_ARE_WORDS)
layout(local_size_x = 256) in;
#define ROW_STEP 16u  // from one of an invocation's rows to the next
#else
layout(local_size_x = 128) in;
#define ROW_STEP 1u
#endif
#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3)  // an invocation's four tokens

#ifdef GROUPED
shared uint x_places[64], y_places[64];  // offsets of the rows of the tile's tokens
#define OPERAND(token) x_places[(token) - uint(work_begin)]
#define RESULT(token) y_places[(token) - uint(work_begin)]
#define END uint(work_end)
#else
#define OPERAND(token) x_offset + (token) * uint(x_stride)
#define RESULT(token) y_offset + (token) * uint(y_stride)
#define END uint(S)
#endif

// Returns the first of the group's tokens; its tokens end before END. All invocations of the group must call it before
// they use OPERAND or RESULT.
uint find_tokens(uint id) {
#ifdef GROUPED
  find_work(64);
  const uint first = uint(work_begin);
  if (id < 64u && first + id < END) {
    x_places[id] = X_ROW(int(first + id));
    y_places[id] = Y_ROW(int(first + id));
  }
  barrier();
  return first;
#else
  return gl_WorkGroupID.y * 64u;
#endif
}

#ifndef UNITS
// Stores an invocation's four rows of a token, from `row` on.
void store_rows(vec4 value, uint token, uint row) {
  const uint at = RESULT(token) + row, rows = uint(row_end);
  if (row < rows) y[at] = value.x;
  if (row + ROW_STEP < rows) y[at + ROW_STEP] = value.y;
  if (row + 2u * ROW_STEP < rows) y[at + 2u * ROW_STEP] = value.z;
  if (row + 3u * ROW_STEP < rows) y[at + 3u * ROW_STEP] = value.w;
}
#endif
#endif
