// The arguments of grouped_gemm in the simt family, and the tokens and the matrix of each work-group. Other kernels
// include this file; it is never built alone.
//
// Layout: rows of x start at s*x_stride + slot*x_slot; rows of y start at s*y_stride + slot*y_slot. Matrix m starts
//   at m * matrix_bytes.
// Work: dimension 1 counts tiles of 64 choices over all experts in `lists` (engine/device/operators/expert_lists.h),
//   expert after expert. Groups past the last tile have no work. Without lists (-DHAS_LISTS=0) dimension 1 is a tile of
//   64 tokens, and dimension 2 is the slot and its matrix.
#define GROUPED_GEMM_ARGUMENTS                                                                                                           \
  BUFFER(w), BUFFER(x), BUFFER(y), BUFFER(lists), const ulong panel_bytes, const ulong matrix_bytes, const int K, const int row_end,    \
      const int count, const int slots, const int x_stride, const int x_slot, const int y_stride, const int y_slot,                    \
      const int tokens_in_all

// The tile's number within its expert, and the expert's place in the lists. Past the last tile both are -1.
INLINE int2 expert_of(__global const int *begins, const int active, int tile) {
  for (int i = 0; i < active; ++i) {
    const int tiles = (begins[i + 1] - begins[i] + 63) / 64;
    if (tile < tiles) return (int2)(tile, i);
    tile -= tiles;
  }
  return -1;
}

// A range of tokens, or of choices in the lists, from `first` to `end`; the work-group takes at most 64 of them.
// x_places and y_places (64 each) receive the offsets of their rows. All work-items of the group must call it.
typedef struct {
  int matrix, first, end;  // matrix -1: no work
} Choices;

INLINE Choices find_choices(__global const int *lists, const int count, const int slots, const int tokens_in_all, const int x_stride,
                            const int x_slot, const int y_stride, const int y_slot, __local long *x_places, __local long *y_places) {
#if HAS_LISTS
  __global const int *begins = lists + 1 + count;
  const int2 place = expert_of(begins, lists[0], get_group_id(1));
  if (place.y < 0) return (Choices){-1, 0, 0};
  const Choices choices = {lists[1 + place.y], begins[place.y] + place.x * 64, begins[place.y + 1]};
#else
  const Choices choices = {get_group_id(2), (int)get_group_id(1) * 64, tokens_in_all};
#endif
  const int id = get_local_id(0), own = choices.first + id;
  if (id < 64 && own < choices.end) {
#if HAS_LISTS
    const int choice = lists[2 + 2 * count + own];
    const long s = choice / slots, slot = choice % slots;
#else
    const long s = own, slot = choices.matrix;
#endif
    x_places[id] = s * x_stride + slot * x_slot;
    y_places[id] = s * y_stride + slot * y_slot;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return choices;
}
#define CHOICES \
  find_choices(PTR(const int, lists), count, slots, tokens_in_all, x_stride, x_slot, y_stride, y_slot, x_places, y_places)
#define PANELS (PTR(const uchar, w) + choices.matrix * matrix_bytes)
#define X_ROW(token) x_places[(token) - choices.first]
#define Y_ROW(token) y_places[(token) - choices.first]
