// The body of rms_norm_{simd,simt}.comp: LANES invocations, lane sums, one tree.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int HAS_ADD = 0;
layout(constant_id = 1) const int ROUND_F16 = 0;

BUFFER(0, float, x);
BUFFER(1, float, y);
BUFFER(2, float, add);
BUFFER(3, float, weight);
layout(push_constant) uniform Args {
  uint x_offset, y_offset, add_offset, weight_offset;
  int width, x_stride, y_stride, add_stride;
  float unit, eps, add_scale;
};

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint s = gl_WorkGroupID.x, group = gl_WorkGroupID.y * uint(width);
  const uint xs = x_offset + s * uint(x_stride) + group, ys = y_offset + s * uint(y_stride) + group;
  const uint adds = add_offset + s * uint(add_stride) + group;

  precise float squares = 0.0;
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) {
    precise float v = x[xs + uint(i)];
    if (HAS_ADD != 0) {
      v = fma(add_scale, add[adds + uint(i)], v);
      x[xs + uint(i)] = v;
    }
    squares = fma(v, v, squares);
  }
  const float sum = tree_sum(squares);
  precise const float mean = sum / float(width);
  precise const float inverse = 1.0 / sqrt(mean + eps);
  // trips <= TANDEM_MAX_ROW / LANES   the elements this invocation wrote itself
  for (int i = lane; i < width; i += LANES) {
    precise const float v = x[xs + uint(i)] * inverse * (weight[weight_offset + uint(i)] + unit);
    y[ys + uint(i)] = ROUND_F16 != 0 ? round_f16(v) : v;
  }
}
