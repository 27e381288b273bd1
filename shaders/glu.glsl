// The body of glu_{simd,simt}.comp: y = activation(gate) * up. glu_of.glsl has the activations and the constants. GATED = 0
// leaves out the product with up, and does not read it.
layout(local_size_x = LANES) in;

BUFFER(0, float, gate);
BUFFER(1, float, up);
BUFFER(2, float, y);
layout(push_constant) uniform Args {
  uint gate_offset, up_offset, y_offset;
  int width, gate_stride, up_stride, y_stride, chunk;
};

void main() {
  const uint s = gl_WorkGroupID.y;
  const uint gates = gate_offset + s * uint(gate_stride), ups = up_offset + s * uint(up_stride), ys = y_offset + s * uint(y_stride);
  // trips <= TANDEM_MAX_CHUNK / 16   a run has at most that many elements, every invocation takes each 16th
  for (int i = run_begin(chunk); i < run_end(chunk, width); i += LANES) {
    float other = 0.0;
    if (GATED != 0) other = up[ups + uint(i)];
    y[ys + uint(i)] = glu_of(gate[gates + uint(i)], other);
  }
}
