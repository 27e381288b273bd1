// The body of glu_{simd,simt}.comp: y = gate / (1 + exp(-t)) * up (Shazeer 2020, arXiv:2002.05202).
//   SwiGLU: t = gate. GEGLU by tanh (ACTIVATION = 1): t = 2 sqrt(2 / pi) * (gate + 0.044715 gate^3),
//   since 1 + tanh(u) = 2 / (1 + exp(-2 u)). Squared ReLU (ACTIVATION = 2): y = gate * max(gate, 0) * up
//   (So et al. 2021, arXiv:2109.08668). Clamped (ACTIVATION = 3): t = 1.702 gate, gate is at most 7, and up + 1 takes
//   the place of up, which is within [-7, 7]. GATED = 0 leaves out the product with up, and does not read it.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int ROUND_F16 = 0;
layout(constant_id = 1) const int ACTIVATION = 0;  // engine/tensor/activation.h
layout(constant_id = 2) const int GATED = 1;

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
    precise float g = gate[gates + uint(i)];
    if (ACTIVATION == 3) g = g > 7.0 ? 7.0 : g;
    precise float t = g;
    if (ACTIVATION == 1) t = fma(0.044715, g * g * g, g) * 1.5957691216;
    if (ACTIVATION == 3) t = g * 1.702;
    precise const float power = 1.0 + exp1(-t), factor = g > 0.0 ? g : 0.0;
    precise float result = ACTIVATION == 2 ? g * factor : quotient(g, power);
    if (GATED != 0) {
      precise float u = up[ups + uint(i)];
      if (ACTIVATION == 3) u = (u > 7.0 ? 7.0 : u < -7.0 ? -7.0 : u) + 1.0;
      result *= u;
    }
    y[ys + uint(i)] = ROUND_F16 != 0 ? round_f16(result) : result;
  }
}
