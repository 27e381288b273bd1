// The body of rope_{simd,simt}.comp: one pair of one token.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int INTERLEAVED = 0;

BUFFER(0, float, x);
BUFFER(1, int, positions);
BUFFER(2, float, table);
layout(push_constant) uniform Args {
  uint x_offset, positions_offset, table_offset;
  int heads, head_dim, rot_dim, x_stride;
};

// Rotates pair n of the token's heads * rot_dim/2 pairs.
void turn(const uint s, const int n) {
  const int pairs = rot_dim / 2, h = n / pairs, j = n % pairs;
  const uint angle = table_offset + uint(positions[positions_offset + s]) * uint(rot_dim) + uint(2 * j);
  const uint xs = x_offset + s * uint(x_stride) + uint(h * head_dim);
  const uint at = xs + uint(INTERLEAVED != 0 ? 2 * j : j), other = xs + uint(INTERLEAVED != 0 ? 2 * j + 1 : j + pairs);
  const float a = x[at], b = x[other], cosine = table[angle], sine = table[angle + 1u];
  precise const float first = fma(a, cosine, -(b * sine));
  precise const float b_cosine = b * cosine;
  precise const float second = fma(a, sine, b_cosine);
  x[at] = first;
  x[other] = second;
}
