// A token of attention sees the positions from FIRST_SEEN to its own, `last`; kernels/visible.cl has the same rule.
// window: the largest number of positions that it sees. A window larger than every position has no effect.
#define FIRST_SEEN(last, window) max(0, (last) - (window) + 1)
