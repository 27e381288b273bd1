// The arguments of grouped_few, the same in both families, and what they say of a choice. Not a source of its own; included.
//
// Layout: rows of x stand at s*x_stride + slot*x_slot and of y at s*y_stride + slot*y_slot; matrix m starts at m * matrix_bytes. Which one slot
//   `slot` of token s is multiplied with is ids[s*slots + slot], or `slot` itself (-DHAS_IDS=0).
// The kernel names `slot`, `s`, the first of its TOKENS tokens, and `matrix`.
#define GROUPED_FEW_ARGUMENTS                                                                                                           \
  BUFFER(w), BUFFER(x), BUFFER(y), BUFFER(ids), const ulong panel_bytes, const ulong matrix_bytes, const int K, const int row_end,     \
      const int slots, const int x_stride, const int x_slot, const int y_stride, const int y_slot
#if HAS_IDS
#define MATRIX_OF(s, slot) AT(const int, ids)[(s) * slots + (slot)]
#else
#define MATRIX_OF(s, slot) (slot)
#endif
#define PANELS (AT(const uchar, w) + matrix * matrix_bytes)
#define FIRST_X (AT(const float, x) + s * x_stride + slot * x_slot)
#define FIRST_Y (AT(float, y) + s * y_stride + slot * y_slot)
