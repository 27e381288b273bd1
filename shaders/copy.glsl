// The body of copy_{simd,simt}.comp.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int ROUND_F16 = 0;
layout(constant_id = 1) const int IN_PLACE = 0;

BUFFER(0, float, x);
BUFFER(1, float, y);
layout(push_constant) uniform Args { uint x_offset, y_offset; int width, x_stride, x_group, y_stride, y_group, chunk; };

void main() {
  const uint s = gl_WorkGroupID.y, g = gl_WorkGroupID.z;
  const uint from = x_offset + s * uint(x_stride) + g * uint(x_group), to = y_offset + s * uint(y_stride) + g * uint(y_group);
  // trips <= TANDEM_MAX_CHUNK / 16   a run has at most that many elements, every invocation takes each 16th
  for (int i = run_begin(chunk); i < run_end(chunk, width); i += LANES) {
    const float value = IN_PLACE != 0 ? y[to + uint(i)] : x[from + uint(i)];
    y[to + uint(i)] = ROUND_F16 != 0 ? round_f16(value) : value;
  }
}
