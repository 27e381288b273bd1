// Which positions a token of attention sees, as shaders/visible.glsl says it too: those from FIRST_SEEN to the token's own, `last`.
// window: how many at most; one that is larger than every position is no window.
#define FIRST_SEEN(last, window) max(0, (last) - (window) + 1)
