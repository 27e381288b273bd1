// The body of softmax_{simd,simt}.comp.
layout(local_size_x = LANES) in;

BUFFER(0, float, x);
layout(push_constant) uniform Args { uint x_offset; int width, x_stride; };

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint xs = x_offset + gl_WorkGroupID.x * uint(x_stride);
  float top = -INFINITY;
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) top = larger(top, x[xs + uint(i)]);
  const float largest = tree_largest(top);
  precise float part = 0.0;
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    precise const float below = x[xs + uint(i)] - largest;
    const float e = exp1(below);
    x[xs + uint(i)] = e;
    part += e;
  }
  const float sum = tree_sum(part);
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    const float share = quotient(x[xs + uint(i)], sum);
    x[xs + uint(i)] = share;
  }
}
