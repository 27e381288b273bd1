// One element of the activation of a feed-forward block: gate / (1 + exp(-t)) * up (Shazeer 2020, arXiv:2002.05202).
// Other shaders include this file after quotient.glsl and exp.glsl; it is never built alone.
//   SwiGLU: t = gate. GEGLU by tanh (ACTIVATION = 1): t = 2 sqrt(2 / pi) * (gate + 0.044715 gate^3),
//   since 1 + tanh(u) = 2 / (1 + exp(-2 u)). Squared ReLU (ACTIVATION = 2): y = gate * max(gate, 0) * up
//   (So et al. 2021, arXiv:2109.08668). Clamped (ACTIVATION = 3): t = 1.702 gate, gate is at most 7, and up + 1 takes
//   the place of up, which is within [-7, 7]. GATED = 0 leaves out the product with up, and does not read it.
// ROUND_F16 = 1 rounds the result to f16.
layout(constant_id = 17) const int ROUND_F16 = 0;
layout(constant_id = 18) const int ACTIVATION = 0;  // engine/tensor/activation.h
layout(constant_id = 19) const int GATED = 1;

float glu_of(const float gate, const float up) {
  precise float g = gate;
  if (ACTIVATION == 3) g = g > 7.0 ? 7.0 : g;
  precise float t = g;
  if (ACTIVATION == 1) t = fma(0.044715, g * g * g, g) * 1.5957691216;
  if (ACTIVATION == 3) t = g * 1.702;
  precise const float power = 1.0 + exp1(-t), factor = g > 0.0 ? g : 0.0;
  precise float result = ACTIVATION == 2 ? g * factor : quotient(g, power);
  if (GATED != 0) {
    precise float u = up;
    if (ACTIVATION == 3) u = (u > 7.0 ? 7.0 : u < -7.0 ? -7.0 : u) + 1.0;
    result *= u;
  }
  return ROUND_F16 != 0 ? round_f16(result) : result;
}
