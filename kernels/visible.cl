// A token of attention sees the positions from FIRST_SEEN to its own, `last`; shaders/visible.glsl has the same rule.
// window: the largest number of positions that it sees. A window larger than every position has no effect. Below 0: it
// sees the positions of its chunk of -window positions.
#define FIRST_SEEN(last, window) ((window) < 0 ? (last) - (last) % -(window) : max(0, (last) - (window) + 1))
