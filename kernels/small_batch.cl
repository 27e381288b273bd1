// How the simt kernels of few tokens begin: their names and arguments, and the operands of a work-group. Other kernels
// include this file; it is never built alone.
//
// SMALL_BATCH_KERNEL(rows, runs) begins the kernel for groups of rows x runs. FIND_OPERANDS is its first line. Then
//   PANELS, FIRST_X and FIRST_Y are the group's weights, and the rows of its first token.
#ifdef GROUPED
#include "grouped_small_batch.cl"
#define SMALL_BATCH_KERNEL(rows, runs) \
  __kernel __attribute__((reqd_work_group_size(rows, runs, 1))) void grouped_small_batch(GROUPED_SMALL_BATCH_ARGUMENTS)
#define FIND_OPERANDS      \
  const int row_begin = 0; \
  const long slot = get_group_id(1), s = (long)get_group_id(2) * TOKENS, matrix = MATRIX_OF(s, slot);
#else
// Kernels of weights in pieces of rows have arguments for operators that are fused with them (matmul_rows_simt.cl).
#if ROW_PIECES
#define FUSED_ARGUMENTS , BUFFER(bias), BUFFER(beside), const int beside_stride
#else
#define FUSED_ARGUMENTS
#endif
#define SMALL_BATCH_KERNEL(rows, runs)                                                                                    \
  __kernel __attribute__((reqd_work_group_size(rows, runs, 1))) void matmul_small_batch(                                  \
      BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin, const int row_end,      \
      const int x_stride, const int y_stride FUSED_ARGUMENTS)
#define FIND_OPERANDS
#define PANELS PTR(const uchar, w)
#define FIRST_X PTR(const float, x)
#define FIRST_Y PTR(float, y)
#endif
