// Few tokens over weights in pieces of rows (engine/device/gpu/row_pieces.h), in the simt family. Other shaders include
// this file after matmul_args.glsl and product_runs.glsl; it is never built alone. It is empty in other kernels.
//
// Layout: a block of 1,024 bytes holds a piece of 16 bytes for each of a panel's 64 rows.
//   i4: 32 columns; the nibbles of byte j are columns 2 j and 2 j + 1. i8: 16 columns; word 2 m + h has columns 8 m + h,
//   + 2, + 4, + 6. Halves: 8 columns. Floats: 4 columns.
// Work mapping: a group of 8 x 16 per 8 rows (dimension 0), so that small matrices fill a large card too. Invocation (r,
//   run) computes one run of one row and KEEPs the sum of each of TOKENS tokens. Then store_totals() adds up the runs.
// Constants: HAS_BIAS = 1 adds bias[row] to a total before it is stored. HAS_RESIDUAL = 1 adds what is stored to `beside`,
//   f32 at s*beside_stride + row, as add_simt does. HAS_UNIT = 1 computes glu_simt of what is stored, with the constants
//   of glu_of.glsl, into `beside`. With GATED the first half of the rows are gates, and a group has 4 of them and the same
//   4 rows of the second half. Grouped kernels do none of these.
// Limits: groups of 128. Shared memory: 512 bytes * TOKENS.
#ifdef IN_ROWS
layout(local_size_x = 8, local_size_y = 16) in;
layout(constant_id = 10) const int TOKENS = 1;
layout(constant_id = 15) const int HAS_BIAS = 0;
layout(constant_id = 16) const int HAS_RESIDUAL = 0;
layout(constant_id = 20) const int HAS_UNIT = 0;
layout(set = 0, binding = 0, std430) readonly buffer pieces_block { uvec4 pieces[]; };
shared float parts[16 * TOKENS * 8];

// The piece of row r in the block that starts at word `block`.
uvec4 row_piece(uint block, uint r) { return pieces[block / 4u + r]; }

#define KEEP(t) \
  if (t < TOKENS) parts[(run * uint(TOKENS) + uint(t)) * 8u + r] = sum##t;

// The sum of the runs of invocation i's row i % 8 and token i / 8, ascending; i < 8 * TOKENS.
float total_of(uint i) {
  precise float total = 0.0;
  [[unroll]] for (uint run = 0u; run < 16u; ++run) total += parts[run * 8u * uint(TOKENS) + i];
  return total;
}

// The row of invocation r of this group.
uint row_of_group(uint r) {
  const uint group = gl_WorkGroupID.x;
  if (HAS_UNIT != 0 && GATED != 0) return group * 4u + r % 4u + r / 4u * (uint(row_end) / 2u);
  return uint(row_begin) + group * 8u + r;
}

// Stores the total of invocation (r, run): that of token `run`, whose row of y begins at `ys`, and of row_of_group(r).
void store_totals(uint r, uint run, uint ys) {
  const uint i = run * 8u + r, row = row_of_group(r);
  const bool stores = run < uint(TOKENS) && row < uint(row_end);
  precise float total = 0.0;
  if (stores) total = total_of(i);
#ifndef GROUPED
  if (stores && HAS_BIAS != 0) total = total + bias[bias_offset + row];
#endif
  if (stores) y[ys + row] = total;
#ifndef GROUPED
  const uint at = beside_offset + run * uint(beside_stride) + row;
  if (stores && HAS_RESIDUAL != 0) {
    precise const float added = beside[at] + total;
    beside[at] = added;
  }
  if (HAS_UNIT != 0) {
    if (stores) parts[i] = total;  // only this invocation reads this place's sum
    barrier();
    if (stores && (GATED == 0 || r < 4u)) beside[at] = glu_of(total, parts[i + (GATED != 0 ? 4u : 0u)]);
  }
#endif
}
#endif
