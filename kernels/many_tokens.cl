// How the simt kernels of many tokens begin: their names and arguments, and the tile of a work-group, 64 rows and 64
// tokens. Other kernels include this file; it is never built alone.
//
// GEMM_KERNEL(attributes) begins the kernel. FIND_TILE is its first line, and ends a group without a tile. The tile begins
//   with `first_row` and `first_token`, and its tokens end before `S`. PANELS are its weights. X_ROW and Y_ROW are the
//   offsets of a token's rows.
#ifdef GROUPED
#include "grouped_gemm.cl"
#define GEMM_KERNEL(attributes) __kernel attributes void grouped_gemm(GROUPED_GEMM_ARGUMENTS)
#define FIND_TILE                                                                                \
  __local long x_places[64], y_places[64]; /* offsets of the tile's rows */                      \
  const Choices choices = CHOICES;                                                               \
  if (choices.matrix < 0) return;                                                                \
  const int first_row = (int)get_group_id(0) * 64, first_token = choices.first, S = choices.end;
#else
#define GEMM_KERNEL(attributes)                                                                                              \
  __kernel attributes void matmul_gemm(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K,                \
                                       const int row_begin, const int row_end, const int x_stride, const int y_stride, const int S)
#define FIND_TILE const int first_row = row_begin + (int)get_group_id(0) * 64, first_token = (int)get_group_id(1) * 64;
#define PANELS PTR(const uchar, w)
#define X_ROW(token) (long)(token) * x_stride
#define Y_ROW(token) (long)(token) * y_stride
#endif
