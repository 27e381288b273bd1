// The arguments of every matmul shader. The weights w are binding 0; each format declares them.
//
// Grouped kernels multiply slots of tokens with matrices of a stack (engine/device/operators/grouped_matmul.h). The row
// of slot i of token s starts at s*x_stride + i*x_slot in x. In y it starts at s*y_stride + i*y_slot. Matrix m starts
// at m * matrix_bytes.
//   grouped_small_batch: dimension 1 is the slot, and dimension 2 counts the tokens, TOKENS at a time. The matrix is
//   ids[s*slots + slot], or the slot's if HAS_IDS is 0.
//   grouped_gemm: dimension 1 counts tiles of choices over all experts in `lists`, expert after expert. Groups past
//   the last tile have no work. If HAS_LISTS is 0, dimension 1 is a tile of tokens, and dimension 2 is the slot and
//   its matrix.
#ifdef X_ARE_WORDS  // codes of activations
BUFFER(1, uint, x);
#else
BUFFER(1, float, x);
#endif
BUFFER(2, float, y);
#if defined(KERNEL_matmul_small_batch_wide) || defined(KERNEL_grouped_small_batch_wide)
#define WIDE
#endif
#if defined(KERNEL_matmul_small_batch_rows) || defined(KERNEL_grouped_small_batch_rows)
#define IN_ROWS  // weights in pieces of rows (matmul_rows.glsl)
#endif
#if defined(KERNEL_matmul_small_batch) || defined(KERNEL_grouped_small_batch) || defined(WIDE) || defined(IN_ROWS)
#define FEW
#endif

#if defined(KERNEL_grouped_small_batch) || defined(KERNEL_grouped_small_batch_wide) || defined(KERNEL_grouped_small_batch_rows) || defined(KERNEL_grouped_gemm)
#define GROUPED
#ifdef FEW
BUFFER(3, int, ids);
layout(constant_id = 12) const int HAS_IDS = 1;
layout(push_constant) uniform Args {
  uint w_offset, x_offset, y_offset, ids_offset;
  uint panel_bytes, matrix_bytes;
  int K, row_end, slots, x_stride, x_slot, y_stride, y_slot;
};
#else
BUFFER(3, int, lists);
layout(constant_id = 12) const int HAS_LISTS = 1;
layout(push_constant) uniform Args {
  uint w_offset, x_offset, y_offset, lists_offset;
  uint panel_bytes, matrix_bytes;
  int K, row_end, count, slots, x_stride, x_slot, y_stride, y_slot, S;
};
#endif
const int row_begin = 0;
int work_matrix = 0;  // the group's matrix
int work_begin = 0, work_end = 0;  // its tokens, or its choices in the list

#ifdef FEW
uint row_of(const int token, const int stride, const int slot_stride) {
  return uint(token) * uint(stride) + gl_WorkGroupID.y * uint(slot_stride);
}

// Finds this group's work: TOKENS tokens.
void find_work(const int tokens) {
  work_begin = int(gl_WorkGroupID.z) * tokens;
  work_end = work_begin + tokens;
  work_matrix = int(gl_WorkGroupID.y);
  if (HAS_IDS != 0) work_matrix = ids[ids_offset + uint(work_begin) * uint(slots) + gl_WorkGroupID.y];
}
#else
uint row_of(const int token, const int stride, const int slot_stride) {
  uint s = uint(token), slot = uint(work_matrix);
  if (HAS_LISTS != 0) {
    const uint choice = uint(lists[lists_offset + 2u + 2u * uint(count) + uint(token)]);
    s = choice / uint(slots);
    slot = choice % uint(slots);
  }
  return s * uint(stride) + slot * uint(slot_stride);
}

// Finds this group's work: a tile of at most `size` tokens or choices. There is none if work_begin == work_end.
void find_work(const int size) {
  int tile = int(gl_WorkGroupID.y);
  if (HAS_LISTS == 0) {
    work_matrix = int(gl_WorkGroupID.z);
    work_begin = tile * size;
    work_end = S;
    return;
  }
  const uint begins = lists_offset + 1u + uint(count);
  const int wanted = lists[lists_offset];
  // trips <= TANDEM_MAX_EXPERTS
  for (int i = 0; i < wanted; ++i) {
    const int begin = lists[begins + uint(i)], end = lists[begins + uint(i) + 1u], tiles = (end - begin + size - 1) / size;
    if (tile < tiles) {
      work_matrix = lists[lists_offset + 1u + uint(i)];
      work_begin = begin + tile * size;
      work_end = end;
      return;
    }
    tile -= tiles;
  }
}
#endif
#define PANELS (w_offset + uint(work_matrix) * (matrix_bytes / 4u))
#define X_ROW(token) (x_offset + row_of(token, x_stride, x_slot))
#define Y_ROW(token) (y_offset + row_of(token, y_stride, y_slot))

#else
#ifdef IN_ROWS  // what may be fused with a product (matmul_rows.glsl)
BUFFER(3, float, bias);
BUFFER(4, float, beside);
#endif
layout(push_constant) uniform Args {
  uint w_offset, x_offset, y_offset;
  uint panel_bytes;
  int K, row_begin, row_end, x_stride, y_stride;
#ifdef KERNEL_matmul_gemm
  int S;
#endif
#ifdef IN_ROWS
  uint bias_offset, beside_offset;
  int beside_stride;
#endif
};
#define PANELS w_offset
#endif
