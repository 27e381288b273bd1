// Makes codes of values that the 64 invocations of a group have put into shared memory. Other shaders include this file
// after act_i8.glsl and quotient.glsl, and before make_codes.glsl; it is never built alone.
//
// Layout: a tile has 64 groups of 32 columns, and column c of the tile is float CODE_AT(c). Each group has a float more,
//   so that the groups of neighbouring invocations begin in different banks.
#define CODE_TILE 2048
#define CODE_AT(column) ((column) / 32u * 33u + (column) % 32u)
shared float code_tile[64 * 33];
#define CODED(at) code_tile[at]

void make_codes(const uint from, const uint to);

// The tile that begins with column `first` of a row of `width`, whose codes begin at word `row`. An invocation makes
// one group.
void make_codes_of_tile(const int first, const int width, const uint row) {
  const uint lane = gl_LocalInvocationID.x, group = uint(first) / 32u + lane;
  if (group < uint(width) / 32u) make_codes(lane * 33u, row + group * ACT_WORDS);
}
