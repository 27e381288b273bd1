// One element of the activation of a feed-forward block (glu_options.cl). Simt kernels include this file; it is never
// built alone. exp is exp1 of common.cl.
#include "glu_options.cl"

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
