// The arguments of grouped_small_batch, the same in both families, and the addresses of a choice's operands. Other kernels
// include this file; it is never built alone.
//
// Layout: rows of x start at s*x_stride + slot*x_slot; rows of y start at s*y_stride + slot*y_slot. Matrix m
//   starts at m * matrix_bytes. Slot `slot` of token s multiplies with matrix ids[s*slots + slot], or with matrix
//   `slot` (-DHAS_IDS=0).
// The kernel defines `slot`, `s` (the first of its TOKENS tokens) and `matrix`.
#define GROUPED_SMALL_BATCH_ARGUMENTS                                                                                                           \
  BUFFER(w), BUFFER(x), BUFFER(y), BUFFER(ids), const ulong panel_bytes, const ulong matrix_bytes, const int K, const int row_end,     \
      const int slots, const int x_stride, const int x_slot, const int y_stride, const int y_slot
#if HAS_IDS
#define MATRIX_OF(s, slot) PTR(const int, ids)[(s) * slots + (slot)]
#else
#define MATRIX_OF(s, slot) (slot)
#endif
#define PANELS (PTR(const uchar, w) + matrix * matrix_bytes)
#define FIRST_X (PTR(const float, x) + s * x_stride + slot * x_slot)
#define FIRST_Y (PTR(float, y) + s * y_stride + slot * y_slot)
