// The body of softmax_{simd,simt}.comp.
layout(local_size_x = LANES) in;

BUFFER(0, float, x);
layout(push_constant) uniform Args { uint x_offset; int width, x_stride; };

#define START(n) precise float sum##n = 0.0;
// Replaces an element by its exponential, and adds that to its sum.
#define ADD_EXPONENTIAL(n)                                               \
  if (first + n * LANES < width) {                                       \
    const uint at = xs + uint(first + n * LANES);                        \
    precise const float below = x[at] - largest;                         \
    const float e = exp1(below);                                         \
    x[at] = e;                                                           \
    sum##n += e;                                                         \
  }

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint xs = x_offset + gl_WorkGroupID.x * uint(x_stride);
  float top = -INFINITY;
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) top = larger(top, x[xs + uint(i)]);
  const float largest = tree_largest(top);
  EACH_SUM(START)
  // trips <= TANDEM_MAX_ROW / SUM_LANES
  for (int first = lane; first < width; first += SUM_LANES) {
    EACH_SUM(ADD_EXPONENTIAL)
  }
  const float sum = TREE_SUM(sum);
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    const float share = quotient(x[xs + uint(i)], sum);
    x[xs + uint(i)] = share;
  }
}
