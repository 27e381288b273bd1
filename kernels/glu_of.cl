// One element of the activation of a feed-forward block: gate / (1 + exp(-t)) * up (Shazeer 2020, arXiv:2002.05202).
// Simt kernels include this file; it is never built alone.
//   SwiGLU: t = gate. GEGLU by tanh (-DACTIVATION=1): t = 2 sqrt(2 / pi) * (gate + 0.044715 gate^3),
//   since 1 + tanh(u) = 2 / (1 + exp(-2 u)). Squared ReLU (-DACTIVATION=2): y = gate * max(gate, 0) * up
//   (So et al. 2021, arXiv:2109.08668). Clamped (-DACTIVATION=3): t = 1.702 gate, gate is at most 7, and up + 1 takes
//   the place of up, which is within [-7, 7]. -DGATED=0 leaves out the product with up, and does not read it.
// exp is exp1 of common.cl; -DROUND_F16=1 rounds the result to f16.
#ifndef ROUND_F16
#define ROUND_F16 0
#endif
#ifndef ACTIVATION
#define ACTIVATION 0  // engine/tensor/activation.h
#endif
#ifndef GATED
#define GATED 1
#endif

INLINE float glu_of(const float gate, const float up) {
#if ACTIVATION == 3
  const float limited = gate > 7.0f ? 7.0f : gate;
  float y = limited / (1.0f + exp1(limited * -1.702f));
#elif ACTIVATION == 2
  float y = gate * (gate > 0.0f ? gate : 0.0f);
#elif ACTIVATION == 1
  float y = gate / (1.0f + exp1(fma(0.044715f, gate * gate * gate, gate) * -1.5957691216f));
#else
  float y = gate / (1.0f + exp1(-gate));
#endif
#if GATED
#if ACTIVATION == 3
  y *= (up > 7.0f ? 7.0f : up < -7.0f ? -7.0f : up) + 1.0f;
#else
  y *= up;
#endif
#endif
#if ROUND_F16
  return round_f16(y);
#else
  return y;
#endif
}
